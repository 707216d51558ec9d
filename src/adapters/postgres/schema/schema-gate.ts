import type { Logger } from 'pino';
import type { Database } from '../database.ts';
import { SchemaError } from '../errors.ts';
import { repeatedCheck } from '../repeated-check.ts';
import { withAdvice } from './advice.ts';
import { type MigrationStatus, migrationStatus } from './migration-status.ts';
import { requireSafeDatabase } from './safe-database.ts';

/** @throws Error, saying what to do, if the database is unsafe for plants or migrations are pending */
export async function requireMigrations(database: Database): Promise<MigrationStatus> {
  try {
    await requireSafeDatabase(database);
    const status = await migrationStatus(database);
    if (status.pending.length === 0) return status;
    throw new SchemaError(`migrations are pending (${status.pending.join(', ')}): run npm run migrate`);
  } catch (error) {
    throw withAdvice(error);
  }
}

/** Milliseconds for which a database counts as safe once it was. */
const SAFE_FOR = 1_000;

/**
 * Creates the check before every use of the schema: all migrations are applied, which it remembers, and the table keeps what
 * it is given, which it checks again while it is in use, since an operator or a restore can change that.
 *
 * @returns a function that returns undefined while both are so; otherwise it rejects with why not
 */
export function migrationGate(database: Database, log: Logger): () => Promise<void> | undefined {
  const migrated = repeatedCheck(async () => {
    const { unknown } = await requireMigrations(database);
    if (unknown.length > 0) log.warn({ migrations: unknown }, 'a newer version has migrated the database');
  });
  const safe = repeatedCheck(() => requireSafeDatabase(database), SAFE_FOR);
  return () => migrated()?.then(safe) ?? safe();
}
