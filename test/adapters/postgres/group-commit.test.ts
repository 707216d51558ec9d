import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Client } from 'pg';
import type { Database } from '../../../src/adapters/postgres/database.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { connect, migratedDatabase, plantsIn, storedPlants, type TestDatabase } from '../../support/test-database.ts';

/* What plants that share a statement must not do to each other. */

const STATEMENT_TIMEOUT = 300;

let server: TestDatabase;
let database: Database;
beforeEach(async () => {
  server = await migratedDatabase();
  database = connect(server.url, { statementTimeout: STATEMENT_TIMEOUT });
});
afterEach(async () => {
  await database.close();
  await server.drop();
});

function many(count: number): NewPlant[] {
  return Array.from({ length: count }, (_, n) => ({ id: BigInt(n), name: `plant ${n}`, tag: `${n}` }));
}

const byId = (a: NewPlant, b: NewPlant) => Number(a.id - b.id);

test('stores many plants with far fewer statements than plants', async () => {
  const plants = plantsIn(database);
  const all = many(500);
  const transactions = async () =>
    Number(
      (await server.query('select xact_commit from pg_stat_database where datname = current_database()'))[0]
        ?.xact_commit,
    );
  const before = await transactions();
  await Promise.all(all.map((plant) => plants.add(plant)));
  // The statistics come a moment late, but never count too many.
  expect((await transactions()) - before).toBeLessThan(100);
  expect((await storedPlants(database)).sort(byId)).toEqual(all);
});

test('tells each plant of a batch its own outcome: new, replayed, conflicting, twice in the batch', async () => {
  const plants = plantsIn(database);
  const held = { id: 1n, name: 'held' };
  await plants.add(held);
  const first = plants.add({ id: 0n, name: 'leaves alone, so that the others share a batch' });
  const outcomes = await Promise.all([
    plants.add({ id: 1n, name: 'held' }),
    plants.add({ id: 1n, name: 'another' }),
    plants.add({ id: 2n, name: 'new' }),
    plants.add({ id: 2n, name: 'too late' }),
    plants.add({ id: 3n, name: 'new', tag: 'tag' }),
  ]);
  await first;
  const two = { id: 2n, name: 'new' };
  expect(outcomes).toEqual([held, held, two, two, { id: 3n, name: 'new', tag: 'tag' }]);
});

test('refuses only the row that the database refuses', async () => {
  await server.query("alter table plants add constraint no_weeds check (name <> 'weed')");
  const plants = plantsIn(database);
  const all = many(64);
  all[40] = { id: 40n, name: 'weed' };
  const outcomes = await Promise.allSettled(all.map((plant) => plants.add(plant)));
  expect(outcomes.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))).toEqual([40]);
  expect(await storedPlants(database)).toHaveLength(63);
});

test('delays the neighbours of a locked row by one statement time-out at most, and goes on after it', async () => {
  const plants = plantsIn(database, { timeout: 5_000 });
  const other = new Client({ connectionString: server.url });
  await other.connect();
  try {
    await other.query("begin; insert into plants values (5, 'not committed yet')");
    const start = performance.now();
    const stuck = plants.add({ id: 5n, name: 'mine' }).catch((error) => error);
    const neighbours = many(64).filter(({ id }) => id !== 5n);
    const all = [
      plants.add({ id: 5n, name: 'mine' }).catch((error) => error),
      ...neighbours.map((plant) => plants.add(plant)),
    ];
    await Promise.all(all.slice(1));
    expect(performance.now() - start).toBeLessThan(2 * STATEMENT_TIMEOUT + 1_500);
    expect(await stuck).toMatchObject({ code: 'store_unavailable' });
    expect(await all[0]).toMatchObject({ code: 'store_unavailable' });
    await other.query('commit');
  } finally {
    await other.end();
  }
  expect(await plants.add({ id: 5n, name: 'mine' })).toEqual({ id: 5n, name: 'not committed yet' });
});

test('leaves no statement behind that it gave up', async () => {
  const plants = plantsIn(database, { timeout: 5_000 });
  const other = new Client({ connectionString: server.url });
  await other.connect();
  try {
    await other.query("begin; insert into plants values (5, 'not committed yet')");
    await expect(plants.add({ id: 5n, name: 'mine' })).rejects.toMatchObject({ code: 'store_unavailable' });
    const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    expect(await server.query(waiting)).toEqual([]);
  } finally {
    await other.end();
  }
});

test('tries again by itself what a lost connection left open', async () => {
  const plants = plantsIn(database);
  const all = many(300);
  const ended = server.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'plant-store'",
  );
  await Promise.all([...all.map((plant) => plants.add(plant)), ended]);
  expect((await storedPlants(database)).sort(byId)).toEqual(all);
});

test('gives up at its deadline while the schema is still being looked at', async () => {
  const looking = Promise.withResolvers<void>();
  const plants = plantsIn(database, { timeout: 300, schemaReady: () => looking.promise });
  await expect(plants.add({ id: 1n, name: 'x' })).rejects.toMatchObject({ code: 'store_unavailable' });
  looking.resolve();
});

test('gives up at its deadline while the database cannot be reached', async () => {
  const unreachable = connect('postgres://plants@127.0.0.1:1/plants');
  const start = performance.now();
  await expect(plantsIn(unreachable, { timeout: 400 }).add({ id: 1n, name: 'x' })).rejects.toMatchObject({
    code: 'store_unavailable',
  });
  expect(performance.now() - start).toBeLessThan(2_400);
  await unreachable.close();
});
