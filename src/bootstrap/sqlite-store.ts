import { resolve } from 'node:path';
import { plantPurge } from '../adapters/sql/changes/purge.ts';
import { storeReadiness } from '../adapters/sql/readiness.ts';
import { sqlStore } from '../adapters/sql/store.ts';
import { endpointStates, webhookEndpoints } from '../adapters/sql/webhooks/endpoint-states.ts';
import { enterEndpoints } from '../adapters/sql/webhooks/endpoints.ts';
import { webhookPositions } from '../adapters/sql/webhooks/positions.ts';
import { withDatabaseFile } from '../adapters/sqlite/command-file.ts';
import { openDatabaseFile } from '../adapters/sqlite/file/database-file.ts';
import { withAdvice } from '../adapters/sqlite/file/failures.ts';
import { problemsIn } from '../adapters/sqlite/readiness.ts';
import type { Maintenance } from '../application/maintenance.ts';
import { say } from '../runtime/say.ts';
import { singleFlight } from '../runtime/single-flight.ts';
import type { Store, StoreOptions } from './store.ts';

/** Milliseconds for responses to leave before the process ends. */
const LAST_RESPONSES_MS = 100;

/** A store on a file of SQLite. */
export async function openSqliteStore(
  dataDir: string,
  { storeTimeout: timeout, webhooks, log, onInsert }: StoreOptions,
): Promise<Store> {
  const names = webhooks.map(({ name }) => name);
  const end = (reason: string) => {
    log.fatal(reason);
    say(reason);
    setTimeout(() => process.exit(1), LAST_RESPONSES_MS);
  };
  const file = await openDatabaseFile(dataDir, { timeout, say, end });
  try {
    await file.run('writes', (session) => enterEndpoints(session, names));
    return {
      ...sqlStore({ ...file, onInsert }),
      description: `the embedded database in ${resolve(dataDir)}`,
      hasFeed: async () => true,
      ready: storeReadiness(() => problemsIn(file, names), withAdvice, log),
      positions: webhookPositions(file.run, names),
      endpointStates: singleFlight(endpointStates(file.run)),
      connections: () => ({}),
      changesLag: async () => 0,
      close: file.close,
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** @throws FileError, saying what to do, if the database cannot be used */
export function withSqlite<Result>(
  dataDir: string,
  work: (store: Maintenance) => Promise<Result>,
  stop?: AbortSignal,
): Promise<Result> {
  return withDatabaseFile(
    dataDir,
    ({ run }) =>
      work({
        purge: plantPurge(run),
        webhooks: webhookEndpoints(run),
        heldBack: async () => undefined,
        renewLog: () => run('writes', (session) => session.dialect.log.renew(session)),
      }),
    stop,
  );
}
