import { beforeEach, expect, test } from '@jest/globals';
import type { Database } from '../../../../src/adapters/postgres/connections/pool.ts';
import { changePlant, deletePlant } from '../../../../src/application/change-plant.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { observed, openTransaction } from '../../../support/disturbances.ts';
import { forEachTest } from '../../../support/lifetimes.ts';
import { connect, migratedDatabase, plantsIn } from '../../../support/test-database.ts';

/* Writes on Postgres that others disturb. What they do otherwise is in test/contract. */

const plant = (id: bigint, name = `plant ${id}`): NewPlant => ({ id, name });

const server = forEachTest(() => migratedDatabase());
let database: Database;
beforeEach(() => {
  database = connect(server.url);
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
