import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CompiledQuery } from 'kysely';
import { Client } from 'pg';
import type { Database } from '../../../src/adapters/postgres/database.ts';
import { embeddedDatabase } from '../../../src/adapters/postgres/embedded.ts';
import { migrateUp } from '../../../src/adapters/postgres/migrator.ts';
import type { PlantRepository } from '../../../src/application/ports.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/service-process.ts';
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

test.each<[string, () => Promise<Database>]>([
  ['Postgres', async () => connect(server.url)],
  ['the embedded database', embedded],
])('refuses only the row that %s refuses', async (_name, open) => {
  const own = await open();
  try {
    await own.sql.executeQuery(CompiledQuery.raw("alter table plants add constraint no_weeds check (name <> 'weed')"));
    const plants = plantsIn(own);
    const all = many(64);
    all[40] = { id: 40n, name: 'weed' };
    const outcomes = await Promise.allSettled(all.map((plant) => plants.add(plant)));
    expect(outcomes.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))).toEqual([40]);
    expect(await storedPlants(own)).toHaveLength(63);
  } finally {
    await own.close();
  }
});

async function embedded(): Promise<Database> {
  const opened = await embeddedDatabase(await temporaryFolder());
  await migrateUp(opened);
  return opened;
}

test('delays the neighbours of a locked row by one statement time-out, not by two, and goes on after it', async () => {
  // So long that what a busy machine adds is small against it.
  const statementTimeout = 3_000;
  const patient = connect(server.url, { statementTimeout });
  const plants = plantsIn(patient);
  const lock = await lockRows([5n]);
  try {
    const start = performance.now();
    const stuck = Promise.allSettled([plants.add({ id: 5n, name: 'mine' }), plants.add({ id: 5n, name: 'mine, too' })]);
    const neighbours = many(64).filter(({ id }) => id !== 5n);
    await Promise.all(neighbours.map((plant) => plants.add(plant)));
    expect(performance.now() - start).toBeLessThan(2 * statementTimeout);
    const refused = { reason: { code: 'store_unavailable' } };
    expect(await stuck).toMatchObject([refused, refused]);
    await lock.query('commit');
    expect(await plants.add({ id: 5n, name: 'mine' })).toEqual({ id: 5n, name: 'not committed yet' });
  } finally {
    await lock.end();
    await patient.close();
  }
});

test('answers the others by their deadline though more rows are locked than there are connections', async () => {
  const small = connect(server.url, { statementTimeout: STATEMENT_TIMEOUT, poolSize: 4 });
  const plants = plantsIn(small, { timeout: 15_000 });
  const all = many(64);
  const locked = all.map(({ id }) => id).filter((id) => id % 5n === 0n);
  const lock = await lockRows(locked);
  try {
    const outcomes = await Promise.allSettled(all.map((plant) => plants.add(plant)));
    const refused = outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code);
    expect(refused).toEqual(all.map(({ id }) => locked.includes(id) && 'store_unavailable'));
  } finally {
    await lock.end();
    await small.close();
  }
});

test('leaves no statement behind that it gave up', async () => {
  const plants = plantsIn(database, { timeout: 5_000 });
  const lock = await lockRows([5n]);
  try {
    await expect(plants.add({ id: 5n, name: 'mine' })).rejects.toMatchObject({ code: 'store_unavailable' });
    const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    expect(await server.query(waiting)).toEqual([]);
  } finally {
    await lock.end();
  }
});

/** Adds rows on a connection of its own, in a transaction that stays open. */
async function lockRows(ids: readonly bigint[]): Promise<Client> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  await client.query('begin');
  await client.query("insert into plants select unnest($1::bigint[]), 'not committed yet'", [ids]);
  return client;
}

test('never deadlocks with another instance that adds the same plants in the opposite order', async () => {
  const databases = [connect(server.url), connect(server.url)];
  const [one, two] = databases.map((each) => plantsIn(each)) as [PlantRepository, PlantRepository];
  for (let round = 0; round < 30; round++) {
    const all = many(200).map((plant) => ({ ...plant, id: plant.id + BigInt(1_000 * round) }));
    const added = [...all.map((plant) => one.add(plant)), ...all.toReversed().map((plant) => two.add(plant))];
    expect(await Promise.all(added)).toEqual([...all, ...all.toReversed()]);
  }
  // A backend tells its last statistics when it ends.
  for (const each of databases) await each.close();
  const others =
    "select 1 from pg_stat_activity where datname = current_database() and application_name = 'plant-store'";
  await eventually(async () => (await server.query(others)).length === 0);
  const [statistics] = await server.query('select deadlocks from pg_stat_database where datname = current_database()');
  expect(statistics).toEqual({ deadlocks: '0' });
});

test('tries again by itself what a lost connection left open', async () => {
  const plants = plantsIn(database);
  const all = many(300);
  const ended = server.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'plant-store'",
  );
  await Promise.all([...all.map((plant) => plants.add(plant)), ended]);
  // Not through the same pool, which may not have heard yet of every connection that was ended.
  const onlooker = connect(server.url);
  expect((await storedPlants(onlooker)).sort(byId)).toEqual(all);
  await onlooker.close();
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
