import { type Kysely, sql } from 'kysely';

/** A live table must take plants meanwhile, which rules out a transaction: see src/adapters/postgres/migrator.ts. */
export const transaction = false;

/** Not on the tags themselves: a btree refuses texts longer than 2,704 bytes (SQLSTATE 54000), and so would POST. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create index concurrently plants_by_tag on plants (hashtextextended(tag, 0), id) where tag is not null
  `.execute(database);
}

export async function down(database: Kysely<unknown>): Promise<void> {
  await database.schema.dropIndex('plants_by_tag').execute();
}
