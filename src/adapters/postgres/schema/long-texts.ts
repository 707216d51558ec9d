import { sql } from 'kysely';
import { MAX_LENGTH } from '../../../domain/plant.ts';
import type { Database } from '../database.ts';
import { migrationStatus } from './migration-status.ts';

/** The first migration of versions in which texts have a length. */
const FIRST = '0006_index_tags_by_text';

/** Only the length in bytes is known without reading a long text. */
const isLong = (field: keyof typeof MAX_LENGTH) =>
  `octet_length(${field}) > ${MAX_LENGTH[field]} and char_length(${field}) > ${MAX_LENGTH[field]}`;

const LONG = `from plants where ${isLong('name')} or ${isLong('tag')}`;

/**
 * What an earlier version has stored that this one refuses, while the database has not been migrated yet.
 *
 * @returns a comment of SQL and the query that finds it, each on a line; undefined if there is nothing
 */
export async function longTexts(database: Pick<Database, 'sql'>): Promise<string | undefined> {
  const { applied, pending } = await migrationStatus(database);
  if (applied.length === 0 || !pending.includes(FIRST)) return undefined;
  const { rows } = await sql<{ count: bigint }>`select count(*) as count ${sql.raw(LONG)}`.execute(database.sql);
  const count = rows[0]?.count ?? 0n;
  if (count === 0n) return undefined;
  return (
    `-- ${count} stored ${count === 1n ? 'plant has a text' : 'plants have texts'} longer than this version takes ` +
    `(docs/upgrading.md has what that means):\nselect id ${LONG};`
  );
}
