import { resolve } from 'node:path';
import type { Maintenance } from '../application/maintenance.ts';
import { readDatabaseConfig } from '../config/config.ts';
import { say } from '../process/say.ts';

/**
 * Opens the configured database for a command that works without the service, and closes it once its work is done. Only
 * the adapter that is needed is loaded. Says first which database it is: another variable would lead to another.
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
    say(`On: ${resolve(config.dataDir)}`);
    const { withSqlite } = await import('./sqlite-store.ts');
    return withSqlite(config.dataDir, isReadOnly, work, stop);
  }
  const { withPostgres } = await import('./postgres-store.ts');
  return withPostgres(config, work);
}
