import { resolve } from 'node:path';
import { plantPurge } from '../adapters/sql/changes/purge.ts';
import { logOf } from '../adapters/sql/dialect.ts';
import type { Run } from '../adapters/sql/run.ts';
import { webhookEndpoints } from '../adapters/sql/webhooks/endpoint-states.ts';
import type { Maintenance } from '../application/maintenance.ts';
import { type Config, readDatabaseConfig } from '../config/config.ts';
import { say } from '../runtime/say.ts';
import type { Store, StoreOptions } from './store.ts';

/* Only the adapter of the configured database is loaded. */

/** Opens the store for the service. @throws Error, saying what to do, if it cannot be used */
export async function openStore(database: Config['database'], options: StoreOptions): Promise<Store> {
  return database.kind === 'embedded'
    ? (await import('./sqlite-store.ts')).openSqliteStore(database.dataDir, options)
    : (await import('./postgres-store.ts')).openPostgresStore(database, options);
}

/**
 * Opens the store for a command that works without the service, and closes it once its work is done. First reports which
 * database it is: another variable would select another.
 *
 * @param stop ends waits of the embedded database for other processes: the work then fails with its reason
 * @throws Error, saying what to do, if the database cannot be used
 */
export async function withStore<Result>(
  work: (store: Maintenance) => Promise<Result>,
  stop?: AbortSignal,
): Promise<Result> {
  const config = readDatabaseConfig();
  const workBy = (run: Run, heldBack: Maintenance['heldBack']) =>
    work({
      purge: plantPurge(run),
      webhooks: webhookEndpoints(run),
      heldBack,
      renewLog: () => run('writes', (session) => logOf(session.dialect).renew(session)),
    });
  if (config.kind === 'postgres') return (await import('./postgres-store.ts')).withPostgres(config, workBy);
  say(`On: ${resolve(config.dataDir)}`);
  const { withDatabaseFile } = await import('../adapters/sqlite/command-file.ts');
  return withDatabaseFile(config.dataDir, ({ run }) => workBy(run, async () => undefined), stop);
}
