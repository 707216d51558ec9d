import { expect, test } from '@jest/globals';
import { ownPostgres } from '../../support/servers/own-postgres.ts';
import { applyMigrations, connect, migratedDatabase, readinessOf } from '../../support/test-database.ts';

test('is complete on a supported version of Postgres, and reports an older one', async () => {
  const { url, query } = await migratedDatabase();
  const [row] = await query('show server_version_num');
  const major = Math.floor(Number(row?.server_version_num) / 10_000);
  const tooOld = `Postgres ${major} is older than 14, the oldest version that is supported: upgrade it`;
  expect(await readinessOf(connect(url))).toBe(major < 14 ? tooOld : undefined);
});

test('says that a server loses plants by a power loss', async () => {
  const { url } = await ownPostgres(['fsync=off', 'full_page_writes=off']);
  await applyMigrations(url);
  const problem = 'a power loss can destroy the database: switch fsync and full_page_writes on in Postgres';
  expect(await readinessOf(connect(url))).toBe(problem);
});
