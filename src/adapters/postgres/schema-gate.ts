import type { Logger } from 'pino';
import { withAdvice } from './advice.ts';
import type { Database } from './database.ts';
import { requireUtf8, requireWarnings } from './database-settings.ts';
import { classify, SchemaError, translated } from './errors.ts';
import { type MigrationStatus, migrationStatus } from './migrator.ts';

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
