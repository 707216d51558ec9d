import { expect, jest, test } from '@jest/globals';
import { readiness } from '../../../src/adapters/postgres/readiness.ts';
import { ownPostgres } from '../../support/servers/own-postgres.ts';
import { applyMigrations, connect, migratedDatabase } from '../../support/test-database.ts';

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
