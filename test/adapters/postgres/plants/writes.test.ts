import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import type { Database } from '../../../../src/adapters/postgres/connections/pool.ts';
import { changePlant, deletePlant } from '../../../../src/application/change-plant.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { lockRows, observed, openTransaction } from '../../../support/disturbances.ts';
import { eventually } from '../../../support/eventually.ts';
import { forEachTest } from '../../../support/lifetimes.ts';
import { sorted } from '../../../support/plants/changes.ts';
import { many } from '../../../support/plants/plant-lines.ts';
import { is } from '../../../support/plants/unchecked-plants.ts';
import { connect, migratedDatabase, plantsIn, storedPlants, type TestPlants } from '../../../support/test-database.ts';

/* What writes that share a statement, and what others do meanwhile, must not do to a write. */

/** A call that waited for its deadline would outlast the test. */
const DAY = 24 * 60 * 60_000;

const server = forEachTest(() => migratedDatabase());
let database: Database;
beforeEach(() => {
  database = connect(server.url);
});

/** Too large for an index on it, also when it is compressed. */
const WEED = `weed ${randomBytes(9_000).toString('base64')}`;

const plant = (id: bigint, name = `plant ${id}`): NewPlant => ({ id, name });

test('stores many plants with few statements, and tells each its own outcome', async () => {
  let statements = 0;
  // Counted where they pass: Postgres's own statistics come up to a second late.
  const plants = plantsIn(observed(database, () => statements++));
  const all = many(500);
  await Promise.all(all.map((plant) => plants.add(plant)));
  expect(statements).toBeLessThan(50);
  expect(sorted(await storedPlants(database))).toEqual(all);

  statements = 0;
  const held = { id: 1n, name: 'plant 1', tag: '1' };
  const first = plants.add({ id: 999n, name: 'leaves alone, so that the others share a batch' });
  const outcomes = await Promise.all([
    plants.add({ ...held }),
    plants.add({ id: 1n, name: 'another' }),
    plants.add({ id: 1_000n, name: 'new' }),
    plants.add({ id: 1_000n, name: 'too late' }),
    plants.add({ id: 1_001n, name: 'new', tag: 'tag' }),
  ]);
  await first;
  expect(outcomes).toEqual([held, held, 'created', { id: 1_000n, name: 'new' }, 'created']);
  // One more finds what was there.
  expect(statements).toBeLessThanOrEqual(3);
});

const NO_WEEDS = "alter table plants add constraint no_weeds check (name not like 'weed%')";

test.each<[string, Record<string, unknown>, string]>([
  ['a constraint of Postgres refuses', { code: '23514' }, NO_WEEDS],
  [
    'a trigger of Postgres refuses',
    { code: 'P0001' },
    trigger('insert', "if new.name like 'weed%' then raise exception 'no weeds'; end if;"),
  ],
  ...['40001', '42501', '57P01', 'XX000'].map((code): [string, Record<string, unknown>, string] => [
    `a trigger of Postgres refuses as what a server in trouble reports as ${code}`,
    { code },
    trigger('insert', `if new.name like 'weed%' then raise exception using errcode = '${code}'; end if;`),
  ]),
  ['an index of an operator has no room for', { code: '54000' }, 'create index names on plants (name)'],
  [
    'a trigger drops',
    { code: 'store_unavailable', cause: { message: expect.stringMatching(/^plant \d+ was not stored/) } },
    trigger('insert', "if new.name like 'weed%' then return null; end if;"),
  ],
])('refuses only the row that %s, without delay for its neighbours', async (_what, reason, statements) => {
  await server.query(statements);
  const plants = plantsIn(database, { timeout: DAY });
  const all = many(64);
  all[40] = { id: 40n, name: WEED };
  const outcomes = await Promise.allSettled(all.map((plant) => plants.add(plant)));
  expect(outcomes.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))).toEqual([40]);
  expect(outcomes[40]).toMatchObject({ reason });
  expect(await storedPlants(database)).toHaveLength(63);
});

test('no conditional change succeeds without the one before when a row is refused', async () => {
  const plants = plantsIn(database, { timeout: DAY });
  await Promise.all([1n, 2n].map((id) => plants.add({ id, name: 'first' })));
  await server.query(trigger('update', "if new.name like 'weed%' then raise exception 'no weeds'; end if;"));
  const outcomes = await Promise.allSettled([
    // Leaves alone, so that the others share an UPDATE, which would leave the row 1 as the last of them wants. If this thread
    // stalls, they may be several lists: none has both changes of 1 without that of 2.
    plants.remove(3n),
    plants.replace({ id: 1n, name: 'weed' }),
    plants.replace({ id: 2n, name: 'weed' }),
    plants.replace({ id: 1n, name: 'last' }, is({ id: 1n, name: 'weed' })),
  ]);
  const ends = outcomes.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.code));
  expect(ends).toEqual([undefined, 'P0001', 'P0001', 'unmet']);
  expect(await plants.find(1n)).toEqual({ id: 1n, name: 'first' });
});

/** Makes a trigger of these statements in PL/pgSQL. */
function trigger(event: 'insert' | 'update', statements: string): string {
  return `create function act() returns trigger language plpgsql as $$begin ${statements} return new; end$$;
    create trigger acting before ${event} on plants for each row execute function act()`;
}

test('answers the others in time though more rows are locked than connections exist', async () => {
  const small = connect(server.url, { statementTimeout: 300, poolSize: 4 });
  const plants = plantsIn(small, { timeout: 15_000 });
  const all = many(64);
  const locked = all.map(({ id }) => id).filter((id) => id % 5n === 0n);
  await lockRows(server.url, locked);
  const outcomes = await Promise.allSettled(all.map((plant) => plants.add(plant)));
  const refused = outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code);
  expect(refused).toEqual(all.map(({ id }) => locked.includes(id) && 'store_unavailable'));
  // Nor is a statement left behind that was given up.
  const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  await eventually(async () => (await server.query(waiting)).length === 0);
});

test('adds a list in statements of 1,000 plants, and stops after one that is refused', async () => {
  const plants = plantsIn(database);
  await server.query(trigger('insert', "if new.id = 7 then raise exception 'no weeds'; end if;"));
  await expect(plants.addAll(many(1_100), false)).rejects.toMatchObject({ code: 'P0001' });
  expect(await storedPlants(database)).toHaveLength(999);
});

test('never deadlocks with an instance that adds the plants in the opposite order', async () => {
  const databases = [connect(server.url), connect(server.url)];
  const [one, two] = databases.map((each) => plantsIn(each)) as [TestPlants, TestPlants];
  for (let round = 0; round < 30; round++) {
    const all = many(200).map((plant) => ({ ...plant, id: plant.id + BigInt(1_000 * round) }));
    const added = [...all.map((plant) => one.add(plant)), ...all.toReversed().map((plant) => two.add(plant))];
    const found = await Promise.all(added);
    const wanted = [...all, ...all.toReversed()];
    expect(found.map((one, n) => (one === 'created' ? wanted[n] : one))).toEqual(wanted);
    expect(found.filter((one) => one === 'created')).toHaveLength(all.length);
  }
  // A backend tells its last statistics when it ends.
  for (const each of databases) await each.close();
  const others = `select 1 from pg_stat_activity
    where datname = current_database() and application_name = 'plant-store'`;
  await eventually(async () => (await server.query(others)).length === 0);
  const [statistics] = await server.query('select deadlocks from pg_stat_database where datname = current_database()');
  expect(statistics).toEqual({ deadlocks: '0' });
});

test.each([
  ['changed', `update plants set name = 'another', changed = default where id = 2`],
  ['deleted', `update plants set name = '', tag = 'x', deleted = now(), changed = default where id = 2`],
])('answers a create by what it has stored, although the plant was %s before it knew', async (_how, statement) => {
  const plants = plantsIn(database);
  await plants.add(plant(1n));
  const disturbed = plantsIn(observed(database, (text) => text.startsWith('insert') && server.query(statement)));
  // In one statement, of which the first plant is a replay.
  const first = disturbed.add(plant(9n));
  const both = [disturbed.add(plant(1n)), disturbed.add(plant(2n))];
  expect(await Promise.all([first, ...both])).toEqual(['created', plant(1n), 'created']);
});

test.each([
  ['alone', []],
  ['beside others', [plant(7n), plant(8n), plant(9n)]],
])('stores a plant whose id was purged after it had found the id taken: %s', async (_how, others) => {
  const plants = plantsIn(database);
  await plants.add(plant(1n));
  await plants.remove(1n);
  const purge = async (text: string, parameters: readonly unknown[]) => {
    if (!text.startsWith('insert') || !/\b1\b/.test(`${parameters[0]}`)) return;
    await server.query('delete from plants where deleted is not null');
  };
  const disturbed = plantsIn(observed(database, purge));
  const first = others.length > 0 ? [disturbed.add(plant(2n))] : [];
  const all = [...first, ...[...others, plant(1n)].map((one) => disturbed.add(one))];
  expect(await Promise.all(all)).toEqual(all.map(() => 'created'));
  expect(await plants.find(1n)).toEqual(plant(1n));
});

test('changes and deletions end, as unavailable, if the database drops them', async () => {
  // Only what is dropped waits for its time.
  const [patient, plants] = [plantsIn(database), plantsIn(database, { timeout: 500 })];
  await patient.add(plant(1n));
  await server.query(`create function drop_update() returns trigger language plpgsql as 'begin return null; end'`);
  await server.query('create trigger dropping before update on plants for each row execute function drop_update()');
  const unavailable = { code: 'store_unavailable' };
  await expect(changePlant(plants)(plant(1n, 'another'))).rejects.toMatchObject(unavailable);
  await expect(changePlant(plants)(plant(1n, 'another'), { matches: 'any' })).rejects.toMatchObject(unavailable);
  await expect(deletePlant(plants)(1n)).rejects.toMatchObject(unavailable);
  await expect(deletePlant(plants)(1n, { matches: 'any' })).rejects.toMatchObject(unavailable);
  expect(await patient.find(1n)).toEqual(plant(1n));
});

test('changes and deletes a plant to which a row of an open transaction refers', async () => {
  await server.query('create table beds (plant bigint references plants)');
  const plants = plantsIn(database);
  await plants.add(plant(1n));
  await openTransaction(server.url, 'insert into beds values (1)');
  expect(await plants.replace(plant(1n, 'changed'))).toEqual(plant(1n, 'changed'));
  expect(await plants.remove(1n)).toBe('deleted');
});

test('many changes and deletions of a locked row leave room for those of others', async () => {
  const plants = plantsIn(database);
  const others = Array.from({ length: 30 }, (_, n) => BigInt(100 + n));
  await Promise.all([1n, ...others].map((id) => plants.add(plant(id))));
  const locker = await openTransaction(server.url, 'select from plants where id = 1 for update');
  const hot = Array.from({ length: 60 }, (_, n) => (n % 2 ? plants.remove(1n) : plants.replace(plant(1n, `${n}`))));
  const settled = Promise.allSettled(hot);
  // While the row is locked.
  await Promise.all(others.map((id, n) => (n % 2 ? plants.remove(id) : plants.replace(plant(id, 'changed')))));
  await locker.query('rollback');
  await settled;
});
