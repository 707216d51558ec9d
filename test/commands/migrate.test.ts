import { expect, test } from '@jest/globals';
import { runMigrate } from '../support/migrations.ts';
import { migratedDatabase } from '../support/test-database.ts';

test("ends with the GRANTs that the service's role still needs, and names no role that only PUBLIC lets connect", async () => {
  const { url: DATABASE_URL, query } = await migratedDatabase();
  const name = new URL(DATABASE_URL).pathname.slice(1);
  const migrate = async () =>
    (await runMigrate({ DATABASE_URL })).stdout.split('\n').filter((line) => /GRANT/.test(line));
  await query(`create role "${name} service" login`);
  await query(`create role ${name}_other login`);
  try {
    expect(await migrate()).toEqual([]);
    await query(`grant connect on database ${name} to "${name} service"`);
    const missing = [
      'SELECT, INSERT, UPDATE ON plants, webhooks',
      'SELECT ON kysely_migration, change_feed',
      'UPDATE (store, recorded) ON change_feed',
    ].map((privileges) => `GRANT ${privileges} TO "${name} service";`);
    expect(await migrate()).toEqual(missing);
    const [first = '', ...others] = missing;
    await query(first);
    expect(await migrate()).toEqual(others);
    for (const statement of others) await query(statement);
    expect(await migrate()).toEqual([]);
  } finally {
    for (const role of [`"${name} service"`, `${name}_other`]) {
      await query(`drop owned by ${role}`);
      await query(`drop role ${role}`);
    }
  }
});
