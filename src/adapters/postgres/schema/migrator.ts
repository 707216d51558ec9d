import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { type MigrationResultSet, Migrator } from 'kysely/migration';
import type { Database } from '../database.ts';
import { longTexts } from './long-texts.ts';
import { damagedMigrations, migrationStatus, migrations } from './migration-status.ts';
import { requireSafeDatabase } from './schema-gate.ts';

/**
 * Applies every pending migration; concurrent callers take turns. A database that a newer version has migrated further
 * stays as it is, so that an old version's job does not fail during a rolling upgrade.
 *
 * @param warn gets what `longTexts` finds, before anything is applied
 * @returns the names of the applied migrations
 */
export async function migrateUp(database: Database, warn?: (warning: string) => void): Promise<string[]> {
  await requireSafeDatabase(database);
  // Most often there is nothing to do, which also a role finds out that may not do anything.
  const { pending } = await migrationStatus(database);
  if (pending.length === 0 && (await damagedMigrations(database)).length === 0) return [];
  const known = await migrations.getMigrations();
  return locked(database, async (one) => {
    const warning = await longTexts({ sql: one });
    if (warning !== undefined) warn?.(warning);
    const done = await damagedMigrations({ sql: one });
    for (const name of done) await known[name]?.up(one);
    for (const name of (await migrationStatus({ sql: one })).pending) {
      const disableTransactions = known[name]?.transaction === false;
      done.push(...namesOf(await new Migrator({ db: one, provider: migrations, disableTransactions }).migrateTo(name)));
    }
    return done;
  });
}

/** Any number that no other program takes: an advisory lock has no name. Kysely's migrator has its own. */
const LOCK_ID = 8_101_970_116_831_150_116n;

/** What may end a migration. Older versions of Postgres lack some of them. */
const LIMITS = sql`from pg_settings where name in ('statement_timeout', 'lock_timeout', 'transaction_timeout',
  'idle_in_transaction_session_timeout', 'idle_session_timeout')`;

/** Milliseconds between two attempts to take the lock. */
const LOCK_INTERVAL = 200;

/**
 * Does the work on one connection while no other migrator works. The lock is polled: a statement that waits for a lock, as
 * Kysely's does, holds a snapshot, and CREATE INDEX CONCURRENTLY waits until all snapshots are gone.
 */
function locked<T>({ sql: database }: Database, work: (one: Database['sql']) => Promise<T>): Promise<T> {
  return database.connection().execute(async (one) => {
    // pg does not send a limit of 0, so those of the role would apply, which are for the service behind PgBouncer.
    await sql`select set_config(name, '0', false) ${LIMITS}`.execute(one);
    const tryLock = sql<{ isTaken: boolean }>`select pg_try_advisory_lock(${LOCK_ID}) as "isTaken"`;
    while (!(await tryLock.execute(one)).rows[0]?.isTaken) await delay(LOCK_INTERVAL);
    try {
      return await work(one);
    } finally {
      // A lost connection has lost the lock, too. The error of the work is reported, not that of the unlocking.
      const ending = [
        sql`select set_config(name, reset_val, false) ${LIMITS}`,
        sql`select pg_advisory_unlock(${LOCK_ID})`,
      ];
      for (const statement of ending) await statement.execute(one).catch(() => {});
    }
  });
}

/** Kysely's migrator never throws. */
function namesOf({ error, results = [] }: MigrationResultSet): string[] {
  if (error !== undefined) throw error;
  return results.map(({ migrationName }) => migrationName);
}
