import { parseArgs } from 'node:util';
import { markdownTable, number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { createDatabase, findPostgres } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { circumstances } from './circumstances.ts';
import { atLeast, atMost } from './claims.ts';
import { contenders } from './contenders.ts';
import { runLoad } from './load.ts';
import { type Figures, measure } from './measure.ts';
import { publish } from './output.ts';
import { addScatteredPlants } from './scattered-plants.ts';
import { claimTable } from './tables.ts';

/*
 * npm run bench -- growth [--plants 10000000] [--rounds 7] [--seconds 10] [--defaults]
 *
 * Does a big table slow the service down? Two services on one Postgres, one over an empty table and one over a big
 * one, and Fastify + pg over the big one, take turns under the same load. Ids are random, so nearly every new one touches
 * another page of a big index. Postgres has the settings that docs/postgres.md gives for so many plants, unless
 * --defaults is given.
 */

const { values } = parseArgs({
  options: {
    plants: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    defaults: { type: 'boolean', default: false },
  },
});
const total = positive(values.plants, 10_000_000);
const rounds = positive(values.rounds, 7);
const seconds = positive(values.seconds, 10);
const connections = 64;

/** For ten million plants on 24 GiB (docs/postgres.md). */
const SETTINGS = ['shared_buffers=6GB', 'max_wal_size=16GB', 'checkpoint_timeout=30min'];

await session(async (session) => {
  const load = { connections, seconds, signal: session.signal };
  const postgres = await findPostgres(session, values.defaults ? [] : SETTINGS);
  const [empty, big] = [await createDatabase(postgres, session), await createDatabase(postgres, session)];
  const onEmpty = await startServer(contenders.ours, empty.url, session);
  const onBig = await startServer(contenders.ours, big.url, session);
  const fastify = await startServer(contenders.fastify, big.url, session);

  await addScatteredPlants(big, total);
  for (const { url } of [onEmpty, onBig, fastify]) await runLoad(url, load);
  // Postgres logs each page whole at its first change after a checkpoint. The first rounds are to show that, and the
  // later ones what follows, so there is no other checkpoint but those that Postgres makes by itself.
  await big.query('vacuum analyze plants');
  await big.query('checkpoint');

  const results: { round: number; ratio: number; empty: Figures; big: Figures; fastify: Figures }[] = [];
  for (let round = 1; round <= rounds; round++) {
    await empty.query('truncate plants');
    const result = {
      empty: await measure(onEmpty, empty, load),
      big: await measure(onBig, big, load),
      fastify: await measure(fastify, big, load),
    };
    const ratio = result.big.requestsPerSecond / result.empty.requestsPerSecond;
    results.push({ round, ratio, ...result });
    console.error(`round ${round}/${rounds}: ${number(ratio)} of the throughput on an empty table`);
  }

  const medians = (of: (figures: Figures) => number) => ({
    empty: median(results.map((result) => of(result.empty))),
    big: median(results.map((result) => of(result.big))),
    ratio: median(results.map((result) => of(result.big) / of(result.empty))),
  });
  const summary = {
    requestsPerSecond: medians((figures) => figures.requestsPerSecond),
    p50: medians((figures) => figures.p50),
    p99: medians((figures) => figures.p99),
    serverCpu: medians((figures) => figures.serverCpu),
    postgresCpu: medians((figures) => figures.postgresCpu),
  };
  const rows = Object.entries(summary).map(([figure, { empty, big, ratio }]) => [
    figure,
    ...[empty, big, ratio].map((value) => number(value)),
  ]);
  console.log(
    markdownTable([`${connections} connections`, 'empty table', `${number(total, 0)} plants`, 'ratio'], rows),
  );
  const ratios = results.map(({ ratio }) => ratio);
  const claims = [
    atLeast(0.8, 'throughput on the big table ÷ on an empty one', ratios),
    atMost(
      0.4,
      'CPU of service and Postgres per create on the big table ÷ Fastify + pg there',
      results.map((result) => result.big.cpu / result.fastify.cpu),
    ),
  ];
  console.log(`\n${claimTable(claims)}`);
  publish('growth.json', {
    ...(await circumstances(big)),
    settings: { plants: total, connections, rounds, seconds, postgres: values.defaults ? [] : SETTINGS },
    claims,
    summary,
    rounds: results,
  });
});
