import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { residentMemory } from '../tooling/linux-process.ts';
import { markdownTable, number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { createDatabase, findPostgres } from '../tooling/session-database.ts';
import { median, quantile } from '../tooling/statistics.ts';
import { circumstances } from './circumstances.ts';
import { atLeast, atMost } from './claims.ts';
import { contenders } from './contenders.ts';
import { runLoad } from './load.ts';
import { checkRows } from './measure.ts';
import { publish } from './output.ts';
import { claimTable } from './tables.ts';

/*
 * npm run bench -- overload [--seconds 10]
 *
 * 64 clients work alone, then together with 2,000 others, twice as many as MAX_REQUESTS admits, then alone again. The
 * service's own log tells how long each answer took from the end of its headers.
 */

const { values } = parseArgs({ options: { seconds: { type: 'string' } } });
const third = positive(values.seconds, 10);
const CLIENTS = 64;
const CROWD = 2_000;
const SECOND = 1_000;
/** The service's default. */
const STORE_TIMEOUT = 5_000;

/** A line of the request log. */
interface Answer {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly status: number | undefined;
  readonly durationMs: number;
}

await session(async (session) => {
  const { folder, signal } = session;
  const database = await createDatabase(await findPostgres(session), session);
  const log = join(folder, 'requests.log');
  const { title, url, pid } = await startServer(contenders.ours, database.url, session, { log });
  // Until V8 has compiled what is hot.
  await runLoad(url, { connections: CLIENTS, seconds: third, signal });

  const memory: number[] = [];
  const stages: { start: number; end: number }[] = [];
  async function stage(work: Promise<unknown>): Promise<void> {
    const start = Date.now();
    await work;
    stages.push({ start, end: Date.now() });
    memory.push(residentMemory(pid, 'peak') / 1024 ** 2);
  }
  const start = Date.now();
  await stage(runLoad(url, { connections: CLIENTS, seconds: third, signal }));
  const clients = runLoad(url, { connections: CLIENTS, seconds: 2 * third, signal });
  await stage(runLoad(url, { connections: CROWD, seconds: third, signal }));
  await stage(clients);
  const rows = await database.countSettledPlants();

  // With the lines of the warm-up, whose plants are in the table, too.
  const all = await readLog(log);
  const answers = all.filter(({ time }) => time >= start);
  const [before, crowded, after] = stages.map(({ start, end }) => answers.filter(within(start, end)));
  if (before === undefined || crowded === undefined || after === undefined) throw new Error('a stage is missing');
  const fallen = stages[1]?.end ?? 0;
  const created = (list: readonly Answer[]) => list.filter(({ status }) => status === 200);
  const refused = crowded.filter(({ status }) => status === 503);
  const full = median(perSecond(created(before), stages[0]?.start ?? 0, third - 2));
  const [firstSecond = Number.NaN, nextSecond = Number.NaN] = perSecond(created(answers), fallen - SECOND, 2);
  const figures = {
    createsPerSecondBefore: full,
    createsPerSecondMeanwhile: created(crowded).length / third,
    createsInFirstSecondAfter: firstSecond,
    createsInNextSecond: nextSecond,
    refused: refused.length,
    refusedMs: spread(refused),
    acceptedMs: spread(created(crowded)),
    abandoned: answers.filter(({ status }) => status === undefined).length,
    peakMemoryMib: { before: memory[0], meanwhile: memory[1] },
    rows,
  };
  checkRows(title, rows, created(all).length, CLIENTS + CROWD);

  console.log(
    markdownTable(
      [`${CROWD} clients on top of ${CLIENTS}`, 'measured'],
      [
        ['creates per second before', number(full, 0)],
        ['creates per second meanwhile', number(figures.createsPerSecondMeanwhile, 0)],
        ['creates in the first second after', number(figures.createsInFirstSecondAfter, 0)],
        ['creates in the next second', number(figures.createsInNextSecond, 0)],
        ['refused with 503', number(refused.length, 0)],
        ['a refusal takes, p50 / p99 / most, ms', texts(figures.refusedMs)],
        ['an accepted one takes, p50 / p99 / most, ms', texts(figures.acceptedMs)],
        ['not waited for by the load, which ends abruptly', number(figures.abandoned, 0)],
        [
          'peak memory before / meanwhile, MiB',
          memory
            .slice(0, 2)
            .map((mib) => number(mib, 0))
            .join(' / '),
        ],
      ],
    ),
  );
  const claims = [
    atMost(100, 'a refusal takes at most, ms', [figures.refusedMs.most]),
    atMost(STORE_TIMEOUT, 'an accepted one takes at most, ms', [figures.acceptedMs.most]),
    atMost(2, 'peak memory meanwhile ÷ before', [(memory[1] ?? Number.NaN) / (memory[0] ?? Number.NaN)]),
    atLeast(0.9, 'creates a second after it ÷ before', [figures.createsInNextSecond / full]),
  ];
  console.log(`\n${claimTable(claims)}`);
  const settings = { third, CLIENTS, CROWD };
  publish('overload.json', { ...(await circumstances(database)), settings, claims, ...figures });
});

async function readLog(file: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { time, status, durationMs } = JSON.parse(line);
    if (durationMs !== undefined) answers.push({ time, status, durationMs });
  }
  return answers;
}

function within(start: number, end: number) {
  return ({ time }: Answer) => time >= start && time < end;
}

/** How many in each second, from a second after the start. */
function perSecond(answers: readonly Answer[], start: number, seconds: number): number[] {
  return Array.from(
    { length: seconds },
    (_, second) => answers.filter(within(start + (second + 1) * SECOND, start + (second + 2) * SECOND)).length,
  );
}

function spread(answers: readonly Answer[]) {
  const times = answers.map(({ durationMs }) => durationMs);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), most: quantile(times, 1) };
}

function texts({ p50, p99, most }: ReturnType<typeof spread>): string {
  return [p50, p99, most].map((ms) => number(ms, 1)).join(' / ');
}
