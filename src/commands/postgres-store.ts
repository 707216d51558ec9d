import { pino } from 'pino';
import { plantPurge } from '../adapters/postgres/changes/plant-purge.ts';
import { type PostgresOptions, postgresServer } from '../adapters/postgres/connections/pool.ts';
import { runner } from '../adapters/postgres/run.ts';
import { withAdvice } from '../adapters/postgres/schema/advice.ts';
import { requireMigrations } from '../adapters/postgres/schema/schema-gate.ts';
import { webhookEndpoints } from '../adapters/postgres/webhooks/webhook-endpoints.ts';
import type { Maintenance } from '../application/maintenance.ts';
import { PlantStoreError } from '../domain/errors.ts';

/** Milliseconds; longer than the service's defaults, since no client waits here. */
const STATEMENT_TIMEOUT = 10_000;
const STORE_TIMEOUT = 60_000;

/** @throws Error, saying what to do, if the database cannot be used */
export async function withPostgres<Result>(
  options: PostgresOptions,
  work: (store: Maintenance) => Promise<Result>,
): Promise<Result> {
  const database = postgresServer({ ...options, statementTimeout: STATEMENT_TIMEOUT }, pino({ level: 'silent' }));
  try {
    await requireMigrations(database);
    const run = runner(database, { gate: () => undefined, timeout: STORE_TIMEOUT });
    return await work({ purge: plantPurge(database, run), webhooks: webhookEndpoints(database, run) });
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
