import { relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { positive } from '../tooling/options.ts';
import { type ServerProgram, startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { type BenchDatabase, createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { runLoad } from './load.ts';
import { type Figures, measure } from './measure.ts';

/*
 * npm run bench -- versions FOLDER [--connections 64] [--rounds 7] [--seconds 4] [--request create]
 *
 * This version beside the one that is checked out in FOLDER, with its packages installed. The other one has two
 * processes, so that its ratio to itself shows what chance does. In each round each process has its turn on a table that
 * was just emptied, in an order that changes; ratios are made within a round. Other requests than create: replay (the plants
 * are there already), plant, page.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    connections: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    request: { type: 'string' },
  },
});
const [folder, ...rest] = positionals;
if (folder === undefined || rest.length > 0) throw new Error('name the folder of the other version, and nothing else');
const connections = positive(values.connections, 64);
const rounds = positive(values.rounds, 7);
const seconds = positive(values.seconds, 4);

const WARM_UP_SECONDS = 10;

const REQUESTS = ['create', 'replay', 'plant', 'page'] as const;
const request = REQUESTS.find((name) => name === (values.request ?? 'create'));
if (request === undefined) throw new Error(`--request must be one of ${REQUESTS.join(', ')}`);

/** Plants that are there already, unless they are to be created. */
const STORED = 100_000;

const here = resolve(import.meta.dirname, '..');
const other = relative(here, resolve(folder, 'src/main.ts'));
const versions: ServerProgram[] = [
  { title: 'other', script: other, stores: true },
  { title: 'this', script: 'src/main.ts', stores: true },
  { title: 'other again', script: other, stores: true },
];

await session(async (session) => {
  const { signal } = session;
  const database = await createDatabase(await findPostgres(session), session);
  const servers = await Promise.all(versions.map((version) => startServer(version, database.url, session)));
  for (const { url } of servers) await runLoad(url, { connections: 64, seconds: WARM_UP_SECONDS, signal });

  const runs: Figures[][] = [];
  for (let round = 0; round < rounds; round++) {
    const figures: Figures[] = [];
    for (let turn = 0; turn < servers.length; turn++) {
      const index = (round + turn) % servers.length;
      const server = servers[index];
      if (server === undefined) continue;
      await database.countSettledPlants();
      await startAfresh(database);
      if (request !== 'create') await addPlants(database);
      figures[index] = await measure(server, database, { request, plants: STORED, connections, seconds, signal });
      console.error(`round ${round + 1}/${rounds}: ${server.title} ${Math.round(figures[index].requestsPerSecond)}/s`);
    }
    runs.push(figures);
  }

  console.log(`\n${connections} connections, ${rounds} rounds of ${seconds} s; median (least to most)`);
  for (const figure of ['requestsPerSecond', 'p50', 'serverCpu', 'postgresCpu'] as const) {
    for (const [title, index] of [['this ÷ other', 1] as const, ['other ÷ itself', 2] as const]) {
      const ratios = runs.map((run) => (run[index]?.[figure] ?? Number.NaN) / (run[0]?.[figure] ?? Number.NaN));
      const [middle, least, most] = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map((n) => n.toFixed(2));
      console.log(`${figure.padEnd(18)} ${title.padEnd(15)} ${middle} (${least} to ${most})`);
    }
  }
});

async function addPlants({ query }: BenchDatabase): Promise<void> {
  await query(`insert into plants (id, name) select n, 'Plant number ' || n from generate_series(1, $1::bigint) as n`, [
    STORED,
  ]);
  await query('vacuum analyze plants');
}
