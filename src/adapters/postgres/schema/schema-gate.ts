import type { Logger } from 'pino';
import { untilPassed } from '../calls/shared-run.ts';
import type { Database } from '../database.ts';
import { SchemaError } from '../errors.ts';
import { withAdvice } from './advice.ts';
import { requireSettings } from './database-settings.ts';
import { type MigrationStatus, migrationStatus } from './migrator.ts';
import { requireSafeTable } from './safe-table.ts';

/** @throws Error, saying what to do, if the database's settings are unsafe for plants or migrations are pending */
export async function requireMigrations(database: Database): Promise<MigrationStatus> {
  try {
    await requireSettings(database);
    const status = await migrationStatus(database);
    if (status.pending.length === 0) return status;
    throw new SchemaError(`migrations are pending (${status.pending.join(', ')}): run npm run migrate`);
  } catch (error) {
    throw withAdvice(error);
  }
}

/**
 * Creates the check before every use of the schema, which remembers success.
 *
 * @returns a function that returns undefined once all migrations are applied and the table keeps what it is given; until
 * then, it rejects with why not
 */
export function migrationGate(database: Database, log: Logger): () => Promise<void> | undefined {
  return untilPassed(async () => {
    const { unknown } = await requireMigrations(database);
    await requireSafeTable(database);
    if (unknown.length > 0) log.warn({ migrations: unknown }, 'a newer version has migrated the database');
  });
}
