import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { holderIn } from '../adapters/postgres/change-log.ts';
import { type PostgresOptions, postgresServer } from '../adapters/postgres/connections/pool.ts';
import { heldBackProblem } from '../adapters/postgres/readiness.ts';
import { withAdvice } from '../adapters/postgres/schema/advice.ts';
import { requireMigrations } from '../adapters/postgres/schema/schema-gate.ts';
import { plantPurge } from '../adapters/sql/changes/purge.ts';
import { runner } from '../adapters/sql/run.ts';
import { webhookEndpoints } from '../adapters/sql/webhooks/endpoints.ts';
import { heldBackTime, LONG } from '../application/changes/held-back.ts';
import type { Maintenance } from '../application/maintenance.ts';
import { PlantStoreError } from '../domain/errors.ts';
import { say } from '../process/say.ts';

/** Milliseconds; longer than the service's defaults, since no client waits here. */
const STATEMENT_TIMEOUT = 10_000;
const STORE_TIMEOUT = 60_000;
const INTERVAL = 1_000;

/** What may be over at once is looked at again: who may not see since when it has been so has to wait for that. */
async function untilClear(heldBack: () => Promise<number>): Promise<number> {
  for (let before = 0; ; await delay(INTERVAL)) {
    const seconds = await heldBack();
    if (seconds <= before || seconds > LONG) return seconds;
    before = seconds;
  }
}

/** @throws Error, saying what to do, if the database cannot be used */
export async function withPostgres<Result>(
  options: PostgresOptions,
  work: (store: Maintenance) => Promise<Result>,
): Promise<Result> {
  const database = postgresServer({ ...options, statementTimeout: STATEMENT_TIMEOUT }, pino({ level: 'silent' }));
  say(`On: ${database.description}`);
  try {
    await requireMigrations(database);
    const run = runner(database, { gate: database.dialect, timeout: STORE_TIMEOUT, withAdvice });
    return await work({
      purge: plantPurge(run),
      webhooks: webhookEndpoints(run),
      heldBack: async () => heldBackProblem(await untilClear(heldBackTime(holderIn(database)).secondsNow)),
    });
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
