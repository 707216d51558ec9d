import { type Kysely, sql } from 'kysely';
import type { Migration, MigrationProvider } from 'kysely/migration';
import type { Tables } from '../database.ts';

/** The same migrations, except that `down` fails, and so changes nothing, if it would delete plants. */
export function refuseDataLoss(provider: MigrationProvider): MigrationProvider {
  return {
    async getMigrations() {
      const migrations = Object.entries(await provider.getMigrations());
      return Object.fromEntries(migrations.map(([name, migration]) => [name, withSafeDown(name, migration)]));
    },
  };
}

function withSafeDown(name: string, { up, down }: Migration): Migration {
  return {
    up,
    async down(database: Kysely<Tables>) {
      const before = await lockAndCount(database);
      await down?.(database);
      const deleted = before - (await lockAndCount(database));
      if (deleted === 0n) return;
      throw new Error(
        `reverting ${name} would delete ${deleted} ${deleted === 1n ? 'plant' : 'plants'}, marks of deleted ones included, ` +
          'so nothing was changed: to delete, add --delete-plants',
      );
    },
  };
}

/** Counts the plants and locks the table until the end of the transaction, so that none is created meanwhile. */
async function lockAndCount(database: Kysely<Tables>): Promise<bigint> {
  const { rows } = await sql`select from pg_class where oid = to_regclass('plants')`.execute(database);
  if (rows.length === 0) return 0n;
  await sql`lock table plants in access exclusive mode`.execute(database);
  const count = database.selectFrom('plants').select(({ fn }) => fn.countAll<bigint>().as('count'));
  return (await count.executeTakeFirstOrThrow()).count;
}
