import type { Maintenance } from '../application/maintenance.ts';
import { readDatabaseConfig } from '../config/config.ts';

/**
 * Opens the configured database for a command that works without the service, and closes it once its work is done. Only
 * the adapter that is needed is loaded.
 *
 * @param isReadOnly whether the work only reads
 * @param stop ends waits for other processes, whereupon the work fails with its reason, with the embedded database
 * @throws Error, saying what to do, if the database cannot be used
 */
export async function withStore<Result>(
  isReadOnly: boolean,
  work: (store: Maintenance) => Promise<Result>,
  stop?: AbortSignal,
): Promise<Result> {
  const config = readDatabaseConfig();
  if (config.kind === 'embedded') {
    const { withSqlite } = await import('./sqlite-store.ts');
    return withSqlite(config.dataDir, isReadOnly, work, stop);
  }
  const { withPostgres } = await import('./postgres-store.ts');
  return withPostgres(config, work);
}
