import { expect, test } from '@jest/globals';
import { readiness } from '../../../src/adapters/postgres/readiness.ts';
import { connect, migratedDatabase } from '../../support/test-database.ts';

test('is complete on a supported version of Postgres, and reports an older one', async () => {
  const { url, query } = await migratedDatabase();
  const [row] = await query('show server_version_num');
  const major = Math.floor(Number(row?.server_version_num) / 10_000);
  const tooOld = `Postgres ${major} is older than 14, the oldest version that is supported: upgrade it`;
  expect(await readiness(connect(url))()).toBe(major < 14 ? tooOld : undefined);
});
