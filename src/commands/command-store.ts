import { pino } from 'pino';
import { plantPurge } from '../adapters/postgres/changes/plant-purge.ts';
import { postgresServer } from '../adapters/postgres/connections/pool.ts';
import type { Database } from '../adapters/postgres/database.ts';
import { runner } from '../adapters/postgres/run.ts';
import { withAdvice } from '../adapters/postgres/schema/advice.ts';
import { requireMigrations } from '../adapters/postgres/schema/schema-gate.ts';
import { webhookEndpoints } from '../adapters/postgres/webhooks/webhook-endpoints.ts';
import { readDatabaseConfig } from '../config/config.ts';
import { PlantStoreError } from '../domain/errors.ts';

/** What commands do to a database. */
interface CommandStore {
  readonly purge: ReturnType<typeof plantPurge>;
  readonly webhooks: ReturnType<typeof webhookEndpoints>;
}

/** Milliseconds; longer than the service's defaults, since no client waits here. */
const DATABASE_TIMEOUTS = { statementTimeout: 10_000 };
const STORE_TIMEOUT = 60_000;

/**
 * Opens the configured database for a command that works without the service, and closes it once its work is done.
 *
 * @param isReadOnly whether the work only reads
 * @throws Error, saying what to do, if the database cannot be used
 */
export async function withStore<Result>(
  isReadOnly: boolean,
  work: (store: CommandStore) => Promise<Result>,
): Promise<Result> {
  const config = readDatabaseConfig();
  if (config.kind === 'embedded') return withSqlite(config.dataDir, isReadOnly, work);
  const database = postgresServer({ ...config, ...DATABASE_TIMEOUTS }, pino({ level: 'silent' }));
  try {
    await requireMigrations(database);
    return await work(storeOn(database));
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    // The database's own message: clients must not see it, but whoever runs a command needs it.
    const cause = withAdvice(error.cause);
    const message = cause instanceof Error ? cause.message : error.message;
    throw new Error(`The database failed (${message}). Run the same command again once it works.`, { cause: error });
  } finally {
    await database.close();
  }
}

function storeOn(database: Database): CommandStore {
  const run = runner(database, { gate: () => undefined, timeout: STORE_TIMEOUT });
  return {
    purge: plantPurge(database, run),
    webhooks: webhookEndpoints(database, run),
  };
}

async function withSqlite<Result>(
  dataDir: string,
  isReadOnly: boolean,
  work: (store: CommandStore) => Promise<Result>,
) {
  const { withDatabaseFile } = await import('../adapters/sqlite/command-file.ts');
  const { plantPurge } = await import('../adapters/sqlite/changes/purge.ts');
  const { webhookEndpoints } = await import('../adapters/sqlite/webhooks/endpoints.ts');
  return withDatabaseFile(dataDir, isReadOnly, (file) =>
    work({ purge: plantPurge(file), webhooks: webhookEndpoints(file) }),
  );
}
