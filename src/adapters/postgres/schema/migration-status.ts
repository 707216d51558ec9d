import fs from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { FileMigrationProvider, type Migration } from 'kysely/migration';
import type { Database } from '../connections/pool.ts';
import { failureOf, SchemaError } from '../failures.ts';

/** A migration that can be run again after an interrupted attempt. */
interface ResumableMigration extends Migration {
  /** False if it must run outside a transaction. */
  readonly transaction?: boolean;
  /** Whether what it created still exists and is complete. */
  readonly isIntact?: (database: Database['sql']) => Promise<boolean>;
}

/** The migrations of this version. */
export const migrations: { getMigrations(): Promise<Record<string, ResumableMigration>> } = new FileMigrationProvider({
  fs,
  path,
  migrationFolder: path.join(import.meta.dirname, '../../../../migrations'),
  import: (file) => import(pathToFileURL(file).href),
});

/** The names of migrations, oldest first. */
export interface MigrationStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Applied, but by a newer version of this code. */
  readonly unknown: readonly string[];
}

/**
 * Compares this version's migrations with those of the database; without a migration table all are pending.
 *
 * @throws SchemaError, saying what to do, if the database belongs to another application
 */
export async function migrationStatus({ sql: database }: Pick<Database, 'sql'>): Promise<MigrationStatus> {
  const names = Object.keys(await migrations.getMigrations()).sort();
  const applied = await appliedMigrations(database);
  const pending = names.filter((name) => !applied.includes(name));
  const unknown = applied.filter((name) => !names.includes(name));
  // A newer version would have applied the migrations of this version first.
  if (pending.length > 0 && unknown.length > 0) {
    throw new SchemaError(
      `kysely_migration has the migrations of another application (${unknown[0]}, ...): ${SEPARATE}`,
    );
  }
  if (applied.length === 0) await requireNoTables(database);
  return { applied, pending, unknown };
}

/** The applied migrations whose result is missing or incomplete; `migrateUp` repeats them. */
export async function damagedMigrations(database: Pick<Database, 'sql'>): Promise<string[]> {
  const all = await migrations.getMigrations();
  const names: string[] = [];
  for (const name of (await migrationStatus(database)).applied) {
    if ((await all[name]?.isIntact?.(database.sql)) === false) names.push(name);
  }
  return names;
}

/** The SQLSTATE of a missing table. */
const UNDEFINED_TABLE = '42P01';

const SEPARATE = "set the database's URL to a separate database";

async function appliedMigrations(database: Database['sql']): Promise<string[]> {
  try {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(database);
    return rows.map(({ name }) => name);
  } catch (error) {
    if (failureOf(error).state === UNDEFINED_TABLE) return [];
    throw error;
  }
}

/** @throws SchemaError, saying what to do, if a table already has the name of one that the migrations create */
async function requireNoTables(database: Database['sql']): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(array['plants', 'change_feed', 'webhooks']) as name
    where to_regclass(quote_ident(current_schema()) || '.' || name) is not null
  `.execute(database);
  // A migrator may have created them meanwhile.
  if (rows.length === 0 || (await appliedMigrations(database)).length > 0) return;
  const names = rows.map(({ name }) => name).join(', ');
  throw new SchemaError(
    `these tables exist, and no migration of this program has created them (${names}): ${SEPARATE}, ` +
      'or restore the table kysely_migration as well',
  );
}
