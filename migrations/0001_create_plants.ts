import type { Kysely } from 'kysely';

export async function up(sql: Kysely<unknown>): Promise<void> {
  await sql.schema
    .createTable('plants')
    .addColumn('id', 'bigint', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('tag', 'text')
    .execute();
}
