import { parseArgs } from 'node:util';
import { residentMemory } from '../tooling/linux-process.ts';
import { markdownTable, number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { type BenchDatabase, createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { createsBesideImports } from './beside-imports.ts';
import { circumstances } from './circumstances.ts';
import { atLeast, atMost } from './claims.ts';
import { writeList } from './import-lists.ts';
import { importInto, runImport } from './import-process.ts';
import { publish } from './output.ts';
import { timed } from './rounds.ts';
import { claimTable } from './tables.ts';

/*
 * npm run bench -- import [--plants 500000] [--rounds 5] [--seconds 10] [--long 10000000]
 *
 * How fast is npm run import beside COPY, which takes no care of conflicts, and does memory stay flat? In each round
 * COPY, an import of CSV and one of NDJSON bring the same plants into the same table, emptied, just after a checkpoint;
 * the imports as a process of their own, its start included, to a service that runs, COPY from a file on the server. Then
 * others create at 64 connections, alone, beside one import and beside four; ratios are made within a round. At last comes
 * one long NDJSON file: resident memory of each process in the last tenth of the time against the second tenth.
 */

const { values } = parseArgs({
  options: {
    plants: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    long: { type: 'string' },
  },
});
const plants = positive(values.plants, 500_000);
const rounds = positive(values.rounds, 5);
const seconds = positive(values.seconds, 10);
const long = positive(values.long, 10_000_000);
const MIB = 1024 ** 2;

await session(async (session) => {
  const database = await createDatabase(await findPostgres(session), session);
  const server = await startServer(plantStore, database.url, session);
  const importer = importInto(server);
  const csv = await writeList('csv', plants, session);
  const ndjson = await writeList('ndjson', plants, session);

  const ways = {
    copy: () => timed(() => database.query(`copy plants (id, name, tag) from '${csv}' with (format csv, header)`)),
    csv: () => timed(() => runImport(importer, csv, session)),
    ndjson: () => timed(() => runImport(importer, ndjson, session)),
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

  const beside = await createsBesideImports(server, database, { rounds, seconds }, session);

  await startAfresh(database);
  const samples: { time: number; importMib: number; serviceMib: number }[] = [];
  const list = await writeList('ndjson', long, session);
  const took = await timed(() =>
    runImport(importer, list, session, (time, pid) => {
      const [importMib, serviceMib] = [pid, server.pid].map((process) => residentMemory(process, 'now') / MIB);
      // It may have ended just now.
      if (importMib && serviceMib) samples.push({ time, importMib, serviceMib });
    }),
  );
  await checkCount(database, long);
  const memory = (of: (sample: (typeof samples)[number]) => number) => {
    const between = (from: number, to: number) =>
      median(samples.filter(({ time }) => time > from * took && time <= to * took).map(of));
    return { early: between(0.1, 0.2), late: between(0.9, 1), peak: Math.max(...samples.map(of)) };
  };
  const processes = { import: memory(({ importMib }) => importMib), service: memory(({ serviceMib }) => serviceMib) };
  const residentMib = memory(({ importMib, serviceMib }) => importMib + serviceMib);
  const longRun = { plants: long, plantsPerSecond: long / took, residentMib, processes };
  const claims = [
    atLeast(0.6, 'creates beside an import, 64 connections: throughput ÷ alone', beside.one),
    atLeast(0.4, 'creates beside four imports, 64 connections: throughput ÷ alone', beside.four),
    ...Object.entries(processes).map(([name, { early, late }]) =>
      atMost(64, `${number(long, 0)} plants: MiB that the ${name} has grown from the second tenth to the last`, [
        late - early,
      ]),
    ),
  ];

  console.log(
    markdownTable(
      [`${number(plants, 0)} plants`, 'plants/s', '÷ COPY'],
      summary.map(({ way, plantsPerSecond, ofCopy }) => [way, number(plantsPerSecond, 0), number(ofCopy)]),
    ),
  );
  console.log(
    `${number(long, 0)} plants at ${number(longRun.plantsPerSecond, 0)}/s: resident memory of both processes ${number(residentMib.early, 0)} MiB in the ` +
      `second tenth of the time, ${number(residentMib.late, 0)} MiB in the last, ${number(residentMib.peak, 0)} MiB at most`,
  );
  console.log(`\n${claimTable(claims)}`);
  publish('import.json', {
    ...(await circumstances(database)),
    settings: { plants, rounds, seconds, long },
    claims,
    summary,
    rounds: runs,
    longRun,
    samples,
  });
});

async function checkCount({ countPlants }: BenchDatabase, expected: number): Promise<void> {
  const count = await countPlants();
  if (count !== expected) throw new Error(`the table has ${count} plants instead of ${expected}`);
}
