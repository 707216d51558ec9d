import { endpointStates, enterEndpoints } from '../adapters/sql/webhooks/endpoints.ts';
import { webhookPositions } from '../adapters/sql/webhooks/positions.ts';
import { openDatabaseFile } from '../adapters/sqlite/file/database-file.ts';
import { readiness } from '../adapters/sqlite/readiness.ts';
import { sqliteStore } from '../adapters/sqlite/store.ts';
import { say } from '../process/say.ts';
import { singleFlight } from '../process/single-flight.ts';
import type { Store, StoreOptions } from './store.ts';

/** Milliseconds that responses have to leave before the process ends. */
const LAST_RESPONSES = 100;

/** A store on a file of SQLite. */
export async function openSqliteStore(
  dataDir: string,
  { storeTimeout: timeout, webhooks, log, onInsert }: StoreOptions,
): Promise<Store> {
  const names = webhooks.map(({ name }) => name);
  const end = (reason: string) => {
    log.fatal(reason);
    say(reason);
    setTimeout(() => process.exit(1), LAST_RESPONSES);
  };
  const file = await openDatabaseFile(dataDir, { timeout, say, end });
  try {
    await file.run('writes', (session) => enterEndpoints(session, names));
    return {
      ...sqliteStore(file, onInsert),
      description: file.description,
      hasFeed: async () => true,
      ready: readiness(file, names, log),
      positions: webhookPositions(file.run, names),
      endpointStates: singleFlight(endpointStates(file.run)),
      measures: { connections: () => ({}), changesLag: async () => 0 },
      close: file.close,
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}
