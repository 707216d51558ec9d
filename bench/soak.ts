import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { residentMemory } from '../tooling/linux-process.ts';
import { markdownTable, number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { createDatabase, findPostgres } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { circumstances } from './circumstances.ts';
import { atMost } from './claims.ts';
import { contenders } from './contenders.ts';
import { runLoad } from './load.ts';
import { checkRows } from './measure.ts';
import { publish } from './output.ts';
import { claimTable } from './tables.ts';

/*
 * npm run bench -- soak [--seconds 600]
 *
 * Does the service last? Full load on an empty table; heap and resident memory of its last tenth against those of its
 * second tenth (with 10 minutes: the second minute), and every answer against the rows.
 */

const { values } = parseArgs({ options: { seconds: { type: 'string' } } });
const seconds = positive(values.seconds, 600);
const connections = 64;
const tenth = seconds / 10;
const MIB = 1024 ** 2;

/** Loaded into the service: says how much of the heap is in use after a full collection. */
const HEAP_PROBE = `setInterval(() => {
  gc();
  process.stderr.write('heap ' + process.memoryUsage().heapUsed + '\\n');
}, ${(tenth / 4) * 1000}).unref();`;

interface Sample {
  /** Seconds since the load began. */
  readonly time: number;
  readonly value: number;
}

await session(async (session) => {
  const database = await createDatabase(await findPostgres(session), session);
  const nodeFlags = ['--expose-gc', `--import=data:text/javascript,${encodeURIComponent(HEAP_PROBE)}`];
  const server = await startServer(contenders.ours, database.url, session, { nodeFlags });

  const start = performance.now();
  const time = () => (performance.now() - start) / 1000;
  const samples = { throughput: [] as Sample[], heapMib: [] as Sample[], residentMib: [] as Sample[] };
  server.lines.on('line', (line) => {
    const [, heap] = /^heap (\d+)$/.exec(line) ?? [];
    if (heap !== undefined) samples.heapMib.push({ time: time(), value: Number(heap) / MIB });
  });

  async function sample(): Promise<void> {
    for (let last = { time: 0, rows: 0 }; last.time < seconds; ) {
      await sleep(Math.max(1, tenth / 12) * 1000);
      // The statistics, since counting the rows would load Postgres more and more.
      const [table] = await database.query(`select n_tup_ins from pg_stat_user_tables where relname = 'plants'`);
      const now = { time: time(), rows: Number(table?.n_tup_ins) };
      samples.throughput.push({ time: now.time, value: (now.rows - last.rows) / (now.time - last.time) });
      samples.residentMib.push({ time: now.time, value: residentMemory(server.pid, 'now') / MIB });
      last = now;
    }
  }
  const load = { connections, seconds, signal: session.signal };
  const [{ answers, failures, p50, p99 }] = await Promise.all([runLoad(server.url, load), sample()]);
  const rows = await database.countSettledPlants();
  checkRows(server.title, rows, answers, failures + connections);

  const summary = Object.entries(samples).map(([figure, taken]) => {
    const between = (from: number, to: number) =>
      median(taken.filter(({ time }) => time > from && time <= to).map(({ value }) => value));
    const [early, late] = [between(tenth, 2 * tenth), between(seconds - tenth, seconds)];
    return { figure, early, late, growth: late / early - 1 };
  });
  const table = summary.map(({ figure, early, late, growth }) => [
    figure,
    number(early, 0),
    number(late, 0),
    `${number(growth * 100, 1)} %`,
  ]);
  console.log(markdownTable([`${seconds} s of full load`, 'second tenth', 'last tenth', 'growth'], table));
  console.log(
    `${answers} answers of 200, ${failures} failures, ${rows} rows; p50 ${number(p50)} ms, p99 ${number(p99)} ms`,
  );
  const heapGrowth = summary.filter(({ figure }) => figure === 'heapMib').map(({ growth }) => growth);
  const claims = [atMost(0.1, 'growth of the heap after the first tenth', heapGrowth)];
  console.log(`\n${claimTable(claims)}`);
  publish('soak.json', {
    ...(await circumstances(database)),
    settings: { connections, seconds },
    claims,
    summary,
    answers,
    failures,
    rows,
    p50,
    p99,
    samples,
  });
  if (failures > 0) process.exitCode = 1;
});
