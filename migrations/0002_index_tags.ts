import { type Kysely, sql } from 'kysely';

/** The index is built while plants are written, which Postgres does only outside a transaction. */
export const transaction = false;

/**
 * Not on the tags themselves: a btree refuses texts longer than 2,704 bytes (SQLSTATE 54000), and so would every create.
 * Can be run again: an attempt that was interrupted leaves an invalid index.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  if (!(await isIntact(database))) await sql`drop index concurrently if exists plants_by_tag`.execute(database);
  await sql`
    create index concurrently if not exists plants_by_tag
    on plants (hashtextextended(tag, 0), id) where tag is not null
  `.execute(database);
}

/** Whether the index exists and is complete. */
export async function isIntact(database: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql`
    select from pg_index where indexrelid = to_regclass('plants_by_tag') and indisvalid
  `.execute(database);
  return rows.length > 0;
}
