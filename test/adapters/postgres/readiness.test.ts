import { expect, jest, test } from '@jest/globals';
import { readiness } from '../../../src/adapters/postgres/readiness.ts';
import { ownPostgres } from '../../support/servers/own-postgres.ts';
import { applyMigrations, connect, migratedDatabase, plantsIn, storedPlants } from '../../support/test-database.ts';

test('is complete on a supported version of Postgres, and reports an older one', async () => {
  const { url, query } = await migratedDatabase();
  const [row] = await query('show server_version_num');
  const major = Math.floor(Number(row?.server_version_num) / 10_000);
  const tooOld = `Postgres ${major} is older than 14, the oldest version that is supported: upgrade it`;
  expect(await readiness(connect(url))()).toBe(major < 14 ? tooOld : undefined);
});

test('runs once for all who ask while it runs, and anew for those who come later', async () => {
  let runs = 0;
  const { url } = await migratedDatabase();
  const ready = readiness({ ...connect(url), verify: async () => void runs++ });
  await Promise.all([ready(), ready()]);
  expect(runs).toBe(1);
  await ready();
  expect(runs).toBe(2);
});

test('says that a server loses plants by a power loss, and logs it once', async () => {
  const { url } = await ownPostgres(['fsync=off', 'full_page_writes=off']);
  await applyMigrations(url);
  const warn = jest.fn();
  const ready = readiness(connect(url), [], { log: { warn } });
  const problem = 'a power loss can destroy the database: switch fsync and full_page_writes on in Postgres';
  expect([await ready(), await ready()]).toEqual([problem, problem]);
  expect(warn.mock.calls).toEqual([[{ problem }, expect.any(String)]]);
});

test('names the triggers and rules that may change a plant, or drop it', async () => {
  const { url, query } = await migratedDatabase();
  await query(`create function upper() returns trigger language plpgsql as
    $$begin new.name := upper(new.name); return new; end$$`);
  const create = (name: string, when: string) =>
    query(`create trigger ${name} ${when} insert on plants for each row execute function upper()`);
  await create('"Shout"', 'before');
  await create('heard', 'after');
  await create('ended', 'before');
  await query('alter table plants disable trigger ended');
  await create('always', 'before');
  await query('alter table plants enable always trigger always');
  await query('create rule kept as on delete to plants do instead nothing');
  const database = connect(url);
  expect(await readiness(database)()).toBe(
    'triggers or rules on plants may change or drop a plant, whose response has what was sent: "Shout", always, kept',
  );
  const plant = { id: 1n, name: 'rose' };
  expect(await plantsIn(database).add(plant)).toBe('created');
  expect(await storedPlants(database)).toEqual([{ id: 1n, name: 'ROSE' }]);

  await query('create rule dropped as on insert to plants do instead nothing');
  await expect(readiness(database)()).rejects.toThrow('cannot perform INSERT RETURNING on relation');
});
