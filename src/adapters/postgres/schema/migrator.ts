import fs from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { FileMigrationProvider, type Migration, type MigrationResultSet, Migrator } from 'kysely/migration';
import type { Database, Tables } from '../database.ts';
import { SchemaError, sqlState, UNDEFINED_TABLE } from '../errors.ts';
import { refuseDataLoss } from './data-loss.ts';
import { requireSettings } from './database-settings.ts';

const provider = new FileMigrationProvider({
  fs,
  path,
  migrationFolder: path.join(import.meta.dirname, '../../../../migrations'),
  import: (file) => import(file),
});

/** A migration that can be run again after an attempt that was interrupted. */
interface ResumableMigration extends Migration {
  /** False if it must run outside a transaction. */
  readonly transaction?: boolean;
  /** Whether what it made is still there and complete. */
  readonly isIntact?: (database: Kysely<Tables>) => Promise<boolean>;
}

const resumable = (): Promise<Readonly<Record<string, ResumableMigration>>> => provider.getMigrations();

/**
 * Applies every pending migration; concurrent callers take turns. A database that a newer version has migrated further
 * stays as it is, so that an old version's job does not fail during a rolling upgrade.
 *
 * @returns the names of the applied migrations
 */
export async function migrateUp(database: Database): Promise<string[]> {
  await requireSettings(database);
  // Most often there is nothing to do, which also a role finds out that may not do anything.
  const { pending } = await migrationStatus(database);
  if (pending.length === 0 && (await damagedMigrations(database)).length === 0) return [];
  const migrations = await resumable();
  return locked(database, async (sql) => {
    const done = await damagedMigrations({ sql });
    for (const name of done) await migrations[name]?.up(sql);
    for (const name of (await migrationStatus({ sql })).pending) {
      const disableTransactions = migrations[name]?.transaction === false;
      done.push(...namesOf(await new Migrator({ db: sql, provider, disableTransactions }).migrateTo(name)));
    }
    return done;
  });
}

/** Any number that no other program takes: an advisory lock has no name. Kysely's migrator has its own. */
const LOCK_ID = 8_101_970_116_831_150_116n;

/** Milliseconds between two attempts to take the lock. */
const LOCK_INTERVAL = 200;

/**
 * Does the work on one connection while no other migrator works. The lock is polled: a statement that waits for a lock, as
 * Kysely's does, holds a snapshot, and CREATE INDEX CONCURRENTLY waits until all snapshots are gone.
 */
function locked<T>({ sql: database }: Database, work: (one: Kysely<Tables>) => Promise<T>): Promise<T> {
  return database.connection().execute(async (one) => {
    // pg does not send a limit of 0, so those of the role would apply, which are for the service behind PgBouncer.
    await sql`select set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)`.execute(one);
    const tryLock = sql<{ isTaken: boolean }>`select pg_try_advisory_lock(${LOCK_ID}) as "isTaken"`;
    while (!(await tryLock.execute(one)).rows[0]?.isTaken) await delay(LOCK_INTERVAL);
    try {
      return await work(one);
    } finally {
      // A lost connection has lost the lock, too. The error of the work is reported, not that of the unlocking.
      const ending = [
        sql`reset statement_timeout`,
        sql`reset lock_timeout`,
        sql`select pg_advisory_unlock(${LOCK_ID})`,
      ];
      for (const statement of ending) await statement.execute(one).catch(() => {});
    }
  });
}

/** The applied migrations whose result is missing or incomplete; `migrateUp` repeats them. */
export async function damagedMigrations({ sql: database }: Pick<Database, 'sql'>): Promise<string[]> {
  const migrations = await resumable();
  const damaged: string[] = [];
  for (const name of (await migrationStatus({ sql: database })).applied) {
    if ((await migrations[name]?.isIntact?.(database)) === false) damaged.push(name);
  }
  return damaged;
}

/**
 * Reverts the newest migration.
 *
 * @throws Error, saying how many, if that would delete plants and `deletePlants` is false; nothing is changed then
 * @returns its name, if there was one
 */
export function migrateDown(
  database: Database,
  { deletePlants }: { readonly deletePlants: boolean },
): Promise<string[]> {
  const migrations = deletePlants ? provider : refuseDataLoss(provider);
  return locked(database, async (one) => {
    await migrationStatus({ sql: one });
    return namesOf(await new Migrator({ db: one, provider: migrations }).migrateDown());
  });
}

/** The names of migrations, oldest first. */
export interface MigrationStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Applied, but by a newer version of this code. */
  readonly unknown: readonly string[];
}

/**
 * Compares this version's migrations with the database's; without a migration table all are pending.
 *
 * @throws SchemaError, saying what to do, if the database is another application's
 */
export async function migrationStatus({ sql: database }: Pick<Database, 'sql'>): Promise<MigrationStatus> {
  const known = Object.keys(await provider.getMigrations()).sort();
  const applied = await appliedMigrations(database);
  const pending = known.filter((name) => !applied.includes(name));
  const unknown = applied.filter((name) => !known.includes(name));
  // A newer version has applied the known ones first.
  if (pending.length > 0 && unknown.length > 0) {
    throw new SchemaError(
      `kysely_migration has the migrations of another application (${unknown[0]}, ...): ${SEPARATE}`,
    );
  }
  if (applied.length === 0) await requireNoTables(database);
  return { applied, pending, unknown };
}

const SEPARATE = "set the database's URL to a separate database";

async function appliedMigrations(database: Kysely<Tables>): Promise<string[]> {
  try {
    const rows = await database.selectFrom('kysely_migration').select('name').orderBy('name').execute();
    return rows.map(({ name }) => name);
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return [];
    throw error;
  }
}

/** @throws SchemaError, saying what to do, if a table has the name of one that the migrations are to create */
async function requireNoTables(database: Kysely<Tables>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(array['plants', 'change_feed', 'webhooks']) as name
    where to_regclass(quote_ident(current_schema()) || '.' || name) is not null
  `.execute(database);
  // A migrator may have created them meanwhile.
  if (rows.length === 0 || (await appliedMigrations(database)).length > 0) return;
  const names = rows.map(({ name }) => name).join(', ');
  throw new SchemaError(
    `these migrations did not create what has the name of their tables (${names}): ${SEPARATE}, ` +
      'or restore the table kysely_migration as well',
  );
}

/** Kysely's migrator never throws. */
function namesOf({ error, results = [] }: MigrationResultSet): string[] {
  if (error !== undefined) throw error;
  return results.map(({ migrationName }) => migrationName);
}
