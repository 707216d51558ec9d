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

test('says that a server loses plants by a power loss, and logs it once', async () => {
  const { url } = await ownPostgres(['fsync=off', 'full_page_writes=off']);
  await applyMigrations(url);
  const warn = jest.fn();
  const ready = readiness(connect(url), [], { warn });
  const isOff = (name: string) => `${name} is off, so a power loss can destroy the database: switch it on in Postgres`;
  const problem = `${isOff('fsync')}; ${isOff('full_page_writes')}`;
  expect([await ready(), await ready()]).toEqual([problem, problem]);
  expect(warn.mock.calls).toEqual([[{ problem }, expect.any(String)]]);
});
