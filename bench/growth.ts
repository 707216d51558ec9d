import { number } from '../tooling/markdown-table.ts';
import { plantStore, startServer } from '../tooling/server-process.ts';
import { createDatabase, findPostgres } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { fastify } from './harness/contenders.ts';
import { runLoad } from './harness/load.ts';
import { measure } from './harness/measure.ts';
import { addScatteredPlants } from './harness/plants.ts';
import { atLeast, atMost } from './harness/results.ts';
import { inRounds } from './harness/rounds.ts';
import { scenario } from './harness/scenario.ts';

/*
 * npm run bench -- growth [--plants 10000000] [--rounds 7] [--seconds 10] [--defaults]
 *
 * Does a big table slow the service down? Two services on one Postgres, one over an empty table and one over a big
 * one, and Fastify + pg over the big one, take turns under the same load. Ids are random, so nearly every new one touches
 * another page of a big index. Postgres has the settings that docs/postgres.md gives for so many plants, unless
 * --defaults is given.
 */

/** For ten million plants on 24 GiB (docs/postgres.md). */
const SETTINGS = ['shared_buffers=6GB', 'max_wal_size=16GB', 'checkpoint_timeout=30min'];

const options = { plants: 10_000_000, rounds: 7, seconds: 10, defaults: false };
await scenario('growth', options, async (session, { plants, rounds, seconds, defaults }) => {
  const load = { connections: 64, seconds, signal: session.signal };
  const postgres = await findPostgres(session, defaults ? [] : SETTINGS);
  const [empty, big] = [await createDatabase(postgres, session), await createDatabase(postgres, session)];
  const onEmpty = await startServer(plantStore, empty.url, session);
  const onBig = await startServer(plantStore, big.url, session);
  const theirs = await startServer(fastify, big.url, session);
  for (const { url } of [onEmpty, onBig, theirs]) await runLoad(url, load);
  // Postgres logs each page whole at its first change after a checkpoint. The first rounds are to show that, and the
  // later ones what follows, so there is no other checkpoint but those that Postgres makes by itself.
  await addScatteredPlants(big, plants);

  const found = await inRounds(rounds, 'growth', async () => {
    await empty.query('truncate plants');
    const small = await measure(onEmpty, empty, load);
    const large = await measure(onBig, big, load);
    const other = await measure(theirs, big, load);
    return {
      throughput: large.requestsPerSecond / small.requestsPerSecond,
      cpu: large.cpu / other.cpu,
      ...{ postgres: large.postgres, postgresGrowth: large.postgres / small.postgres },
    };
  });
  const { throughput, cpu, postgres: cpuOfPostgres, postgresGrowth } = found;
  const capacity = {
    head: [`on a table of ${number(plants, 0)} plants`, ''],
    rows: [
      ['throughput ÷ that on an empty table', number(median(throughput))],
      ["Postgres's CPU per plant, µs", number(median(cpuOfPostgres), 0)],
      ['the same ÷ that on an empty table', number(median(postgresGrowth))],
    ],
  };
  const claims = [
    atLeast(0.8, 'throughput on the big table ÷ on an empty one', throughput),
    atMost(0.4, 'CPU of service and Postgres per create on the big table ÷ Fastify + pg there', cpu),
  ];
  return { database: big, tables: { capacity }, claims };
});
