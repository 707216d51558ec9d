import { type Kysely, sql } from 'kysely';
import { withBriefLocks } from './0003_track_changes.ts';

/** As in migration 0003: others go on to use the table. */
export const transaction = false;

/**
 * Adds what shows to which timeline the identity in `store` belongs: the epochs under which the feed has been read with it.
 * src/adapters/postgres/change-log.ts has the reasons. Nothing uses the values.
 *
 * Can be run again, as after migration 0003 has made the table again.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const addColumn = sql`alter table change_feed add column if not exists recorded jsonb not null default '{}'`;
  await withBriefLocks(database, () => addColumn.execute(database));
}

/** Whether the column is there. */
export async function isIntact(database: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql`
    select from pg_attribute where attrelid = to_regclass('change_feed') and attname = 'recorded' and not attisdropped
  `.execute(database);
  return rows.length > 0;
}
