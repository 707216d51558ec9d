import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** Roughly how many plants there are, by the database's statistics; undefined if it has none yet. */
export async function estimatedCount({ sql: database }: Database): Promise<number | undefined> {
  const count = sql<{ count: number }>`select reltuples as count from pg_class where oid = to_regclass('plants')`;
  const { rows } = await count.execute(database);
  return rows.map((row) => row.count).find((known) => known > 0);
}
