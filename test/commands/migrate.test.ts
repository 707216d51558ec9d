import { expect, test } from '@jest/globals';
import { revertTo, runMigrate } from '../support/migrations.ts';
import { connect, migratedDatabase } from '../support/test-database.ts';

test('migrate down deletes no plants unless it is told to', async () => {
  const { url: DATABASE_URL, query } = await migratedDatabase();
  await query("insert into plants values (1, 'Monstera deliciosa')");
  await revertTo('0001_create_plants', connect(DATABASE_URL));
  expect(await runMigrate({ DATABASE_URL }, 'down')).toMatchObject({ code: 1, stdout: '' });
  expect(await query('select name from plants')).toEqual([{ name: 'Monstera deliciosa' }]);
});
