import { type Kysely, sql } from 'kysely';

/** As in migration 0002: the index is built while plants are written. */
export const transaction = false;

/**
 * On the tags themselves, now that they have 200 characters at most, in an order that no update of the system's locales
 * changes; without longer ones of earlier versions, for which a btree may have no room. The index of migration 0002 stays for
 * instances of these versions.
 *
 * Can be run again, as migration 0002.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  if (!(await isIntact(database))) await sql`drop index concurrently if exists plants_by_tag_text`.execute(database);
  await sql`
    create index concurrently if not exists plants_by_tag_text
    on plants (tag collate "C", id) where octet_length(tag) <= 800
  `.execute(database);
}

/** Whether the index exists and is complete. */
export async function isIntact(database: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql`
    select from pg_index where indexrelid = to_regclass('plants_by_tag_text') and indisvalid
  `.execute(database);
  return rows.length > 0;
}
