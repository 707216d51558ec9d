import { sql } from 'kysely';
import { pino } from 'pino';
import { withAdvice } from '../adapters/postgres/advice.ts';
import type { Database } from '../adapters/postgres/database.ts';
import { requireEmbeddedDatabase } from '../adapters/postgres/embedded.ts';
import { plantPurge } from '../adapters/postgres/plant-purge.ts';
import { postgresPlants } from '../adapters/postgres/plant-repository.ts';
import { requireMigrations } from '../adapters/postgres/schema-gate.ts';
import { storeCalls } from '../adapters/postgres/store-call.ts';
import { type DatabaseConfig, readDatabaseConfig } from '../config/config.ts';
import { environment } from '../config/environment.ts';
import { PlantStoreError } from '../domain/errors.ts';
import { openDatabase } from './open-database.ts';

/** Milliseconds; longer than the service's defaults, since no client waits for an individual plant here. */
const DATABASE_TIMEOUTS = { statementTimeout: 10_000 };
const STORE_TIMEOUT = 60_000;

const BATCH_ROWS = 256;

interface OfflineStoreOptions {
  /** The database; that of the service unless another one is given. */
  readonly config?: DatabaseConfig;
  /** Whether to create an embedded database where there is none. */
  readonly mayCreate?: boolean;
}

/**
 * Opens the plants of a database for a command that works without the service.
 *
 * @throws Error, saying what to do, if the database cannot be used
 */
export async function openOfflineStore({
  config = readDatabaseConfig(environment()),
  mayCreate = false,
}: OfflineStoreOptions = {}) {
  // A mistyped DATA_DIR would otherwise be an empty store.
  if (config.kind === 'embedded' && !mayCreate) await requireEmbeddedDatabase(config.dataDir);
  const database = await openDatabase({ ...config, ...DATABASE_TIMEOUTS }, pino({ level: 'silent' }));
  try {
    await requireMigrations(database);
    const callStore = storeCalls({ schemaReady: () => undefined, timeout: STORE_TIMEOUT });
    return {
      plants: postgresPlants(database, { callStore, batchRows: BATCH_ROWS }),
      purge: plantPurge(database, callStore),
      estimateCount: () => estimateCount(database),
      close: database.close,
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Roughly how many plants there are, by the database's statistics; undefined if it has none yet. */
async function estimateCount({ sql: database }: Database): Promise<number | undefined> {
  const count = sql<{ count: number }>`select reltuples as count from pg_class where oid = to_regclass('plants')`;
  const { rows } = await count.execute(database);
  return rows.map((row) => row.count).find((known) => known > 0);
}

/** Adds the database's own message, which clients must not see but whoever runs a command needs. */
export function withDatabaseMessage(error: unknown, advice: string): unknown {
  if (!(error instanceof PlantStoreError)) return error;
  const cause = withAdvice(error.cause);
  const message = cause instanceof Error ? cause.message : error.message;
  return new Error(`The database failed (${message}). ${advice}`, { cause: error });
}
