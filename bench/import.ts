import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { residentMemory } from '../tooling/linux-process.ts';
import { markdownTable, number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type Server, startServer, TOKEN } from '../tooling/server-process.ts';
import { type Session, session } from '../tooling/session.ts';
import { type BenchDatabase, createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { circumstances } from './circumstances.ts';
import { publish } from './output.ts';

/*
 * npm run bench -- import [--plants 500000] [--rounds 3] [--long 5000000]
 *
 * How fast is npm run import beside COPY, which takes no care of conflicts, and does memory stay flat? In each round
 * COPY, an import of CSV and one of NDJSON bring the same plants into the same table, emptied, just after a checkpoint;
 * the imports as a process of their own, its start included, to a service that runs, COPY from a file on the server. Then
 * comes one long NDJSON file: resident memory of both processes in the last tenth of the time against the second tenth.
 */

const { values } = parseArgs({
  options: { plants: { type: 'string' }, rounds: { type: 'string' }, long: { type: 'string' } },
});
const plants = positive(values.plants, 500_000);
const rounds = positive(values.rounds, 3);
const long = positive(values.long, 5_000_000);
const MIB = 1024 ** 2;

type Format = 'csv' | 'ndjson';

await session(async (session) => {
  const database = await createDatabase(await findPostgres(session), session);
  const server = await startServer(plantStore, database.url, session);
  const csv = await writeList('csv', plants, session);
  const ndjson = await writeList('ndjson', plants, session);

  const ways = {
    copy: () => timed(() => database.query(`copy plants (id, name, tag) from '${csv}' with (format csv, header)`)),
    csv: () => timed(() => runImport(csv, server, session)),
    ndjson: () => timed(() => runImport(ndjson, server, session)),
  };
  const runs: { round: number; copy: number; csv: number; ndjson: number }[] = [];
  for (let round = 1; round <= rounds; round++) {
    const run = { round, copy: 0, csv: 0, ndjson: 0 };
    for (const [way, bring] of Object.entries(ways)) {
      await startAfresh(database);
      run[way as keyof typeof ways] = plants / (await bring());
      await checkCount(database, plants);
    }
    runs.push(run);
    console.error(
      `round ${round}/${rounds}: CSV ${number(run.csv / run.copy)}, NDJSON ${number(run.ndjson / run.copy)}`,
    );
  }
  const summary = (['copy', 'csv', 'ndjson'] as const).map((way) => ({
    way,
    plantsPerSecond: median(runs.map((run) => run[way])),
    ofCopy: median(runs.map((run) => run[way] / run.copy)),
  }));

  await startAfresh(database);
  const samples: { time: number; residentMib: number }[] = [];
  const list = await writeList('ndjson', long, session);
  const seconds = await timed(() =>
    runImport(list, server, session, (time, bytes) => {
      samples.push({ time, residentMib: bytes / MIB });
    }),
  );
  await checkCount(database, long);
  const between = (from: number, to: number) =>
    median(
      samples.filter(({ time }) => time > from * seconds && time <= to * seconds).map((sample) => sample.residentMib),
    );
  const [early, late] = [between(0.1, 0.2), between(0.9, 1)];
  const peak = Math.max(...samples.map(({ residentMib }) => residentMib));
  const longRun = {
    plants: long,
    plantsPerSecond: long / seconds,
    residentMib: { early, late, peak },
    growth: late / early - 1,
  };

  console.log(
    markdownTable(
      [`${number(plants, 0)} plants`, 'plants/s', '÷ COPY'],
      summary.map(({ way, plantsPerSecond, ofCopy }) => [way, number(plantsPerSecond, 0), number(ofCopy)]),
    ),
  );
  console.log(
    `${number(long, 0)} plants at ${number(longRun.plantsPerSecond, 0)}/s: resident memory of both processes ${number(early, 0)} MiB in the ` +
      `second tenth of the time, ${number(late, 0)} MiB in the last, ${number(peak, 0)} MiB at most`,
  );
  publish('import.json', {
    ...(await circumstances(database)),
    settings: { plants, rounds, long },
    summary,
    rounds: runs,
    longRun,
    samples,
  });
});

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
}

async function runImport(
  list: string,
  { url, pid }: Server,
  { folder, signal }: Session,
  onSample = (_time: number, _bytes: number) => {},
): Promise<void> {
  const script = join(import.meta.dirname, '../src/import.ts');
  const child = spawn(process.execPath, [script, list], {
    cwd: folder,
    env: { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  });
  const ended = once(child, 'exit');
  const start = performance.now();
  while (child.exitCode === null && child.signalCode === null) {
    await Promise.race([ended, sleep(500)]);
    const bytes = residentMemory(child.pid ?? 0, 'now') + residentMemory(pid, 'now');
    if (!Number.isNaN(bytes)) onSample((performance.now() - start) / 1_000, bytes);
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`the import of ${list} ended with ${code}`);
}

async function checkCount({ countPlants }: BenchDatabase, expected: number): Promise<void> {
  const count = await countPlants();
  if (count !== expected) throw new Error(`the table has ${count} plants instead of ${expected}`);
}

/** Writes a list of plants with scattered ids, each its own, and removes it with the session. */
async function writeList(format: Format, count: number, { folder, signal }: Session): Promise<string> {
  const samples: { name: string; tag?: string }[] = readFileSync(join(import.meta.dirname, 'plants.txt'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(`{${line}}`));
  const rests = samples.map((plant) =>
    format === 'csv' ? `,${plant.name},${plant.tag ?? ''}\n` : `,${JSON.stringify(plant).slice(1)}\n`,
  );
  const path = join(folder, `${count}.${format}`);
  const file = createWriteStream(path, { signal });
  if (format === 'csv') file.write('id,name,tag\n');
  // Knuth's MMIX generator: it comes to every 64-bit number once.
  let state = 0n;
  const LINES_AT_ONCE = 10_000;
  for (let written = 0; written < count; ) {
    let text = '';
    for (const end = Math.min(written + LINES_AT_ONCE, count); written < end; written++) {
      state = BigInt.asUintN(64, state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n);
      text += `${format === 'csv' ? '' : '{"id":'}${BigInt.asIntN(64, state)}${rests[written % rests.length]}`;
    }
    if (!file.write(text)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
  return path;
}
