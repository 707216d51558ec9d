import fs from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { FileMigrationProvider, type MigrationResultSet, Migrator } from 'kysely/migration';
import type { Logger } from 'pino';
import { withAdvice } from './advice.ts';
import { refuseDataLoss } from './data-loss.ts';
import type { Database } from './database.ts';
import { classify, SchemaError, sqlState, translated, UNDEFINED_TABLE } from './errors.ts';

const provider = new FileMigrationProvider({
  fs,
  path,
  migrationFolder: path.join(import.meta.dirname, '../../../migrations'),
  import: (file) => import(file),
});

/**
 * Applies every pending migration; concurrent callers take turns. A database that a newer version has migrated further
 * stays as it is, so that an old version's job does not fail during a rolling upgrade.
 *
 * @returns the names of the applied migrations
 */
export async function migrateUp(database: Database): Promise<string[]> {
  await requireUtf8(database);
  const { pending } = await migrationStatus(database);
  return pending.length === 0 ? [] : namesOf(await new Migrator({ db: database.sql, provider }).migrateToLatest());
}

/**
 * Reverts the newest migration.
 *
 * @throws Error, saying how many, if that would delete plants and `deletePlants` is false; nothing is changed then
 * @returns its name, if there was one
 */
export async function migrateDown(
  { sql }: Database,
  { deletePlants }: { readonly deletePlants: boolean },
): Promise<string[]> {
  const migrations = deletePlants ? provider : refuseDataLoss(provider);
  return namesOf(await new Migrator({ db: sql, provider: migrations }).migrateDown());
}

/** The names of migrations, oldest first. */
export interface MigrationStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Applied, but by a newer version of this code. */
  readonly unknown: readonly string[];
}

/** Compares this version's migrations with the database's; without a migration table all are pending. */
export async function migrationStatus({ sql }: Database): Promise<MigrationStatus> {
  const known = Object.keys(await provider.getMigrations()).sort();
  const done = await sql
    .selectFrom('kysely_migration')
    .select('name')
    .orderBy('name')
    .execute()
    .catch((error) => {
      if (sqlState(error) === UNDEFINED_TABLE) return [];
      throw error;
    });
  const applied = done.map(({ name }) => name);
  return {
    applied,
    pending: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  };
}

/** @throws Error, saying what to do, if the database's settings are unsafe for plants or migrations are pending */
export async function requireMigrations(database: Database): Promise<MigrationStatus> {
  try {
    return await checkedStatus(database);
  } catch (error) {
    throw withAdvice(error);
  }
}

async function checkedStatus(database: Database): Promise<MigrationStatus> {
  await requireUtf8(database);
  await requireWarnings(database);
  const status = await migrationStatus(database);
  if (status.pending.length === 0) return status;
  throw new SchemaError(`migrations are pending (${status.pending.join(', ')}): run npm run migrate`);
}

async function requireUtf8({ sql: database }: Database): Promise<void> {
  const { rows } = await sql<{ encoding: string }>`select current_setting('server_encoding') as encoding`.execute(
    database,
  );
  const encoding = rows[0]?.encoding;
  if (encoding === 'UTF8') return;
  throw new SchemaError(
    `the database's encoding is ${encoding}: create one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0`,
  );
}

/** Without warnings, a commit whose wait for the synchronous standby was cancelled would look like any other. */
async function requireWarnings({ sql: database }: Database): Promise<void> {
  const { rows } = await sql<{ level: string }>`select current_setting('client_min_messages') as level`.execute(
    database,
  );
  if (rows[0]?.level !== 'error') return;
  throw new SchemaError(
    "client_min_messages is error for this role: run ALTER ROLE ... RESET client_min_messages, or remove it from the database's URL",
  );
}

/**
 * Creates the check before every use of the schema, which remembers success.
 *
 * @returns a function that returns undefined once all migrations are applied; until then it rejects with
 * PlantStoreError `store_unavailable`, or with the driver's own error if that is transient
 */
export function migrationGate(database: Database, log: Logger): () => Promise<void> | undefined {
  let passed = false;
  let checking: Promise<void> | undefined;

  async function check(): Promise<void> {
    try {
      const { unknown } = await checkedStatus(database);
      if (unknown.length > 0) log.warn({ migrations: unknown }, 'a newer version has migrated the database');
      passed = true;
    } catch (error) {
      throw classify(error) === 'transient' ? error : translated(withAdvice(error));
    } finally {
      checking = undefined;
    }
  }

  return () => {
    if (passed) return undefined;
    // Concurrent callers share one check.
    checking ??= check();
    return checking;
  };
}

/** Kysely's migrator never throws. */
function namesOf({ error, results = [] }: MigrationResultSet): string[] {
  if (error !== undefined) throw error;
  return results.map(({ migrationName }) => migrationName);
}
