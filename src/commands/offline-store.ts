import { pino } from 'pino';
import { storeCalls } from '../adapters/postgres/calls/store-call.ts';
import { plantPurge } from '../adapters/postgres/changes/plant-purge.ts';
import type { Database } from '../adapters/postgres/database.ts';
import { requireEmbeddedDatabase } from '../adapters/postgres/embedded/embedded-database.ts';
import { estimatedCount } from '../adapters/postgres/plants/estimated-count.ts';
import { postgresPlants } from '../adapters/postgres/postgres-plants.ts';
import { withAdvice } from '../adapters/postgres/schema/advice.ts';
import { requireMigrations } from '../adapters/postgres/schema/schema-gate.ts';
import { webhookEndpoints } from '../adapters/postgres/webhooks/webhook-endpoints.ts';
import { openDatabase } from '../composition/open-database.ts';
import type { DatabaseConfig } from '../config/config.ts';
import { PlantStoreError } from '../domain/errors.ts';

/** Milliseconds; longer than the service's defaults, since no client waits for an individual plant here. */
const DATABASE_TIMEOUTS = { statementTimeout: 10_000 };
const STORE_TIMEOUT = 60_000;

const BATCH_ROWS = 256;

/**
 * Opens a database for a command that works without the service, and closes it once the command has done its work.
 *
 * @param mayCreate whether to create an embedded database where there is none
 * @param advice what to do if the database fails during the work
 * @throws Error, saying what to do, if the database cannot be used
 */
export async function withOfflineStore<Result>(
  config: DatabaseConfig,
  work: (store: OfflineStore) => Promise<Result>,
  { mayCreate = false, advice = 'Run the same command again.' } = {},
): Promise<Result> {
  // A mistyped DATA_DIR would otherwise be an empty store.
  if (config.kind === 'embedded' && !mayCreate) await requireEmbeddedDatabase(config.dataDir);
  const database = await openDatabase({ ...config, ...DATABASE_TIMEOUTS }, pino({ level: 'silent' }));
  try {
    await requireMigrations(database);
    return await work(storeOn(database));
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    // The database's own message: clients must not see it, but whoever runs a command needs it.
    const cause = withAdvice(error.cause);
    const message = cause instanceof Error ? cause.message : error.message;
    throw new Error(`The database failed (${message}). ${advice}`, { cause: error });
  } finally {
    await database.close();
  }
}

export type OfflineStore = ReturnType<typeof storeOn>;

function storeOn(database: Database) {
  const callStore = storeCalls({ schemaReady: () => undefined, timeout: STORE_TIMEOUT });
  return {
    plants: postgresPlants(database, { callStore, batchRows: BATCH_ROWS }),
    purge: plantPurge(database, callStore),
    webhooks: webhookEndpoints(database, callStore),
    estimateCount: () => estimatedCount(database),
  };
}
