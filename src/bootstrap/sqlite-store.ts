import { resolve } from 'node:path';
import { storeReadiness } from '../adapters/sql/readiness.ts';
import { endpointStates } from '../adapters/sql/webhooks/endpoint-states.ts';
import { enterEndpoints } from '../adapters/sql/webhooks/endpoints.ts';
import { webhookPositions } from '../adapters/sql/webhooks/positions.ts';
import { openDatabaseFile } from '../adapters/sqlite/file/database-file.ts';
import { withAdvice } from '../adapters/sqlite/file/failures.ts';
import { problemsIn } from '../adapters/sqlite/readiness.ts';
import { say } from '../runtime/say.ts';
import { plantsOn } from './plants.ts';
import type { Store, StoreOptions } from './store.ts';

/** Milliseconds for responses to leave before the process ends. */
const LAST_RESPONSES_MS = 100;

/** A store on a file of SQLite. */
export async function openSqliteStore(
  dataDir: string,
  { timeout, endpoints, log, onInsert }: StoreOptions,
): Promise<Store> {
  const end = (reason: string) => {
    log.fatal(reason);
    say(reason);
    setTimeout(() => process.exit(1), LAST_RESPONSES_MS);
  };
  const file = await openDatabaseFile(dataDir, { timeout, say, end });
  try {
    await file.run('writes', (session) => enterEndpoints(session, endpoints));
    return {
      ...plantsOn(file, { timeout, maxRunning: 1, onInsert }),
      description: `the embedded database in ${resolve(dataDir)}`,
      hasFeed: async () => true,
      ready: storeReadiness(() => problemsIn(file, endpoints), withAdvice, log),
      positions: webhookPositions(file.run, endpoints),
      endpointStates: endpointStates(file.run),
      connections: () => ({}),
      close: file.close,
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}
