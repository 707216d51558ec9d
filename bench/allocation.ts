import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable, number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { type Server, type ServerProgram, startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { createDatabase, findPostgres } from '../tooling/session-database.ts';
import { contenders } from './contenders.ts';
import { runLoad } from './load.ts';

/*
 * npm run bench -- allocation [--connections 64 --seconds 4]
 *
 * The memory that a server allocates for each create, by V8's sampling heap profiler, and which functions of Plant Store
 * allocate most of it.
 */

const { values } = parseArgs({ options: { connections: { type: 'string' }, seconds: { type: 'string' } } });
const connections = positive(values.connections, 64);
const seconds = positive(values.seconds, 4);

const WARM_UP_SECONDS = 8;
const SHOWN_FUNCTIONS = 25;
const KIB = 1024;

await session(async (session) => {
  const { signal } = session;
  const database = await createDatabase(await findPostgres(session), session);

  /** The bytes that each function has allocated for a create, the largest first. */
  async function allocation(program: ServerProgram): Promise<[place: string, bytes: number][]> {
    const nodeFlags = [`--import=${join(import.meta.dirname, 'allocation-probe.ts')}`];
    const server = await startServer(program, database.url, session, { nodeFlags });
    await runLoad(server.url, { connections, seconds: WARM_UP_SECONDS, signal });
    await toggle(server, /^sampling$/);
    const { answers } = await runLoad(server.url, { connections, seconds, signal });
    const [, functions = '[]'] = await toggle(server, /^allocated (.*)$/);
    await server.stop();
    return (JSON.parse(functions) as [string, number][])
      .map(([place, bytes]): [string, number] => [place, bytes / answers])
      .sort(([, a], [, b]) => b - a);
  }

  const measured = [];
  for (const key of ['ours', 'fastify', 'bare'] as const) {
    const program = contenders[key];
    measured.push({ title: program.title, functions: await allocation(program) });
  }
  const total = (functions: readonly [string, number][]) => functions.reduce((sum, [, bytes]) => sum + bytes, 0);
  const totals = measured.map(({ title, functions }) => [title, number(total(functions) / KIB, 1)]);
  console.log(markdownTable([`${connections} connections`, 'KiB allocated per create'], totals));
  const shown = measured[0]?.functions.slice(0, SHOWN_FUNCTIONS) ?? [];
  console.log(
    `\n${markdownTable(
      ['Plant Store by function', 'bytes'],
      shown.map(([place, bytes]) => [place, number(bytes, 0)]),
    )}`,
  );
});

/** Begins or ends the sampling. @returns the match of the line that says so */
function toggle({ pid, lines }: Server, expected: RegExp): Promise<RegExpExecArray> {
  const { promise, resolve } = Promise.withResolvers<RegExpExecArray>();
  lines.on('line', function check(line) {
    const match = expected.exec(line);
    if (match === null) return;
    lines.off('line', check);
    resolve(match);
  });
  process.kill(pid, 'SIGUSR2');
  return promise;
}
