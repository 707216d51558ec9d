import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { LENGTH_MAX } from '../../../domain/plant.ts';
import type { Database } from '../connections/pool.ts';
import { damagedMigrations, migrationStatus, migrations } from './migration-status.ts';
import { requireSafeDatabase } from './schema-gate.ts';

/**
 * Applies every pending migration; concurrent callers take turns. A database that a newer version has migrated further stays
 * unchanged, so that the job of an old version does not fail during a rolling upgrade.
 *
 * @param warn gets warnings of stored texts that this version refuses, before anything is applied
 * @returns the names of the applied migrations
 */
export async function migrateUp(database: Database, warn?: (warning: string) => void): Promise<string[]> {
  await requireSafeDatabase(database);
  // Usually nothing is pending, which even a role without rights can find out.
  const { pending } = await migrationStatus(database);
  if (pending.length === 0 && (await damagedMigrations(database)).length === 0) return [];
  const all = await migrations.getMigrations();
  return withLock(database, async (connection) => {
    const { applied, pending } = await migrationStatus({ sql: connection });
    if (applied.length > 0 && pending.includes(FIRST_WITH_LENGTHS)) await warnOfLongTexts(connection, warn);
    const names = await damagedMigrations({ sql: connection });
    for (const name of names) await all[name]?.up(connection);
    for (const name of pending) {
      const disableTransactions = all[name]?.transaction === false;
      const migrator = new Migrator({ db: connection, provider: migrations, disableTransactions });
      // `migrateTo` never throws.
      const { error, results = [] } = await migrator.migrateTo(name);
      if (error !== undefined) throw error;
      names.push(...results.map(({ migrationName }) => migrationName));
    }
    return names;
  });
}

/** The first migration of the versions that limit the length of texts. */
const FIRST_WITH_LENGTHS = '0006_index_tags_by_text';

/** Only the length in bytes is known without reading the whole text. */
const isLong = (field: keyof typeof LENGTH_MAX) =>
  `octet_length(${field}) > ${LENGTH_MAX[field]} and char_length(${field}) > ${LENGTH_MAX[field]}`;

const LONG = `from plants where ${isLong('name')} or ${isLong('tag')}`;

/** Warns, in a comment of SQL, how many plants have a text that this version refuses, and adds the query that finds them. */
async function warnOfLongTexts(connection: Database['sql'], warn?: (warning: string) => void): Promise<void> {
  const { rows } = await sql<{ count: bigint }>`select count(*) as count ${sql.raw(LONG)}`.execute(connection);
  const count = rows[0]?.count ?? 0n;
  if (count === 0n) return;
  warn?.(
    `-- ${count} stored ${count === 1n ? 'plant has a text' : 'plants have texts'} longer than this version takes ` +
      `(docs/upgrading.md says what that means):\nselect id ${LONG};`,
  );
}

/** An arbitrary number that no other program uses: an advisory lock has no name. Kysely has a lock of its own. */
const LOCK_ID = 8_101_970_116_831_150_116n;

/** The limits that may end a migration. Older versions of Postgres lack some of them. */
const LIMITS = sql`from pg_settings where name in ('statement_timeout', 'lock_timeout', 'transaction_timeout',
  'idle_in_transaction_session_timeout', 'idle_session_timeout')`;

/** Milliseconds between two attempts to take the lock. */
const LOCK_INTERVAL_MS = 200;

/**
 * Does the work on one connection, without limits, while no other migrator works. The lock is polled: a statement that waits
 * for a lock, as Kysely's does, holds a snapshot, and CREATE INDEX CONCURRENTLY waits until all snapshots are gone.
 */
function withLock<T>({ sql: database }: Database, work: (connection: Database['sql']) => Promise<T>): Promise<T> {
  return database.connection().execute(async (connection) => {
    // pg does not send a limit of 0, so the limits of the role would apply, which are for the service behind PgBouncer.
    await sql`select set_config(name, '0', false) ${LIMITS}`.execute(connection);
    const tryLock = sql<{ isTaken: boolean }>`select pg_try_advisory_lock(${LOCK_ID}) as "isTaken"`;
    while (!(await tryLock.execute(connection)).rows[0]?.isTaken) await delay(LOCK_INTERVAL_MS);
    try {
      return await work(connection);
    } finally {
      // A lost connection has lost the lock, too. If the work fails, its error is reported, not that of unlocking.
      const limits = sql`(select count(set_config(name, reset_val, false)) ${LIMITS})`;
      await sql`select pg_advisory_unlock(${LOCK_ID}), ${limits}`.execute(connection).catch(() => {});
    }
  });
}
