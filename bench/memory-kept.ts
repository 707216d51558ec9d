import { getHeapSpaceStatistics } from 'node:v8';
import { pino } from 'pino';
import { storeCalls } from '../src/adapters/postgres/calls/store-call.ts';
import { postgresServer } from '../src/adapters/postgres/connections/pool.ts';
import { postgresPlants } from '../src/adapters/postgres/postgres-plants.ts';
import { keepObjectsYoung } from '../src/process/young-objects.ts';
import { number } from '../tooling/markdown-table.ts';
import { session } from '../tooling/session.ts';
import { createDatabase, findPostgres } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';

/*
 * npm run bench:memory
 *
 * How many bytes of each create outlive two collections of V8's young generation, and so wait for a major one. Below
 * 100 is nothing: now and then a round leaves some code and caches.
 */

const ROUNDS = 5;
const CREATES = 600;
/** Creates between two collections. */
const COLLECTED = 25;

keepObjectsYoung();
const collect = globalThis.gc;
if (collect === undefined) throw new Error('needs --expose-gc');
const oldSpace = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? Number.NaN;

await session(async (session) => {
  const { url } = await createDatabase(await findPostgres(session), session);
  const timeouts = { connectTimeout: 2_000, statementTimeout: 10_000, idleTimeout: 10_000 };
  const database = postgresServer({ url, poolSize: 10, ...timeouts }, pino({ level: 'silent' }));
  const callStore = storeCalls({ schemaReady: () => undefined, timeout: 20_000 });
  const plants = postgresPlants(database, { callStore, batchRows: 256 });
  let id = 0n;

  async function bytesOfCreates(): Promise<number> {
    const before = oldSpace();
    for (let n = 1; n <= CREATES; n++) {
      await plants.add({ id: id++, name: 'Ginkgo biloba' });
      if (n % COLLECTED === 0) collect?.({ type: 'minor' });
    }
    return (oldSpace() - before) / CREATES;
  }

  // The first creates leave code and caches, or less than nothing: what has served to load the program is collected.
  await bytesOfCreates();
  const rounds: number[] = [];
  while (rounds.length < ROUNDS) rounds.push(await bytesOfCreates());
  console.log(
    `${number(median(rounds), 0)} bytes of each create outlive two collections (${rounds.map(Math.round).join(', ')})`,
  );
  await database.close();
});
