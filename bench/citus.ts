import { parseArgs } from 'node:util';
import { type CitusDatabase, citusDatabase } from '../tooling/citus-cluster.ts';
import { markdownTable, number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, startServer } from '../tooling/server-process.ts';
import { type Session, session } from '../tooling/session.ts';
import { median } from '../tooling/statistics.ts';
import { type Load, runLoad } from './load.ts';

/*
 * npm run bench -- citus [--plants 100000] [--rounds 5] [--seconds 4]
 *
 * What the number of shards costs, and what grouping saves, on the Citus cluster at CITUS_URL: requests per second at 64
 * connections on a table with 8 shards and on one with 32, in turns; ratios are made within a round.
 */

const { values } = parseArgs({
  options: { plants: { type: 'string' }, rounds: { type: 'string' }, seconds: { type: 'string' } },
});
const plants = positive(values.plants, 100_000);
const rounds = positive(values.rounds, 5);
const seconds = positive(values.seconds, 4);

const SHARDS = [8, 32] as const;

/** What is measured; `grouped` is whether requests share statements. */
const REQUESTS: { what: string; request: NonNullable<Load['request']>; grouped: boolean }[] = [
  { what: 'create', request: 'create', grouped: true },
  { what: 'create, BATCH_ROWS=1', request: 'create', grouped: false },
  { what: 'delete', request: 'delete', grouped: true },
  { what: 'one plant', request: 'plant', grouped: true },
  { what: 'a page of 100', request: 'page', grouped: true },
];

await session(async (session) => {
  const tables = [];
  for (const shards of SHARDS) tables.push(await startOn(shards, session));
  const rates = REQUESTS.map(() => SHARDS.map((): number[] => []));
  for (let round = 0; round <= rounds; round++) {
    for (const [n, { what, request, grouped }] of REQUESTS.entries()) {
      for (const [index, { database, servers }] of tables.entries()) {
        await fill(database);
        const url = servers[grouped ? 'grouped' : 'single'].url;
        const load = { request, plants, connections: 64, seconds, signal: session.signal };
        const { answers, failures, seconds: took } = await runLoad(url, load);
        if (failures > 0) throw new Error(`${what}: ${failures} requests failed`);
        // The first round is for warming up.
        if (round > 0) rates[n]?.[index]?.push(answers / took);
      }
    }
    console.error(`round ${round}/${rounds}`);
  }

  const [few, many] = SHARDS;
  const rows = REQUESTS.map(({ what }, n) => {
    const [first = [], second = []] = rates[n] ?? [];
    const ratio = median(first.map((rate, round) => rate / (second[round] ?? Number.NaN)));
    return [what, number(median(first), 0), number(median(second), 0), number(ratio)];
  });
  console.log(
    markdownTable(['requests per second', `${few} shards`, `${many} shards`, `${few} shards ÷ ${many}`], rows),
  );
});

async function startOn(shards: number, session: Session) {
  const database = await citusDatabase(shards);
  session.opened.defer(() => database.drop());
  return {
    database,
    servers: {
      grouped: await startServer(plantStore, database.url, session),
      single: await startServer({ ...plantStore, environment: { BATCH_ROWS: '1' } }, database.url, session),
    },
  };
}

async function fill({ query }: CitusDatabase): Promise<void> {
  await query('truncate plants');
  await query(`insert into plants (id, name) select n, 'Plant number ' || n from generate_series(1, $1::bigint) as n`, [
    plants,
  ]);
}
