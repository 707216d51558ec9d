import { setTimeout as delay } from 'node:timers/promises';
import { type Database, type PostgresOptions, postgresServer } from '../adapters/postgres/connections/pool.ts';
import { postgres } from '../adapters/postgres/dialect.ts';
import { failureOf } from '../adapters/postgres/failures.ts';
import { heldBackProblem, holderIn } from '../adapters/postgres/held-back.ts';
import { problemsIn } from '../adapters/postgres/readiness.ts';
import { registerEndpoints, registrationGate } from '../adapters/postgres/registration.ts';
import { dialectOf, migrationGate, requireMigrations } from '../adapters/postgres/schema/schema-gate.ts';
import { logReader } from '../adapters/sql/changes/reader.ts';
import { storeReadiness } from '../adapters/sql/readiness.ts';
import { recentFailure } from '../adapters/sql/recent-failure.ts';
import { foreground, type Run, runner } from '../adapters/sql/run.ts';
import { endpointStates } from '../adapters/sql/webhooks/endpoint-states.ts';
import { webhookPositions } from '../adapters/sql/webhooks/positions.ts';
import { heldBackTime, LONG_SECONDS_MIN } from '../application/changes/held-back.ts';
import type { Maintenance } from '../application/maintenance.ts';
import { PlantStoreError } from '../domain/errors.ts';
import { say } from '../runtime/say.ts';
import { singleFlight } from '../runtime/single-flight.ts';
import { plantsOn } from './plants.ts';
import type { Store, StoreOptions } from './store.ts';

/** A store on Postgres. Plants may be written once the schema is ready and each endpoint is registered in the feed. */
export function openPostgresStore(
  options: PostgresOptions,
  { timeout, endpoints, log, onInsert }: StoreOptions,
): Store {
  const database = postgresServer(options, log);
  const failure = recentFailure(failureOf);
  const gate = migrationGate(database, log);
  const ensureRegistered = registerEndpoints(database, endpoints);
  const writeGate = endpoints.length === 0 ? gate : registrationGate(ensureRegistered, gate, log);
  const executor = runner(database, { gate, writeGate, timeout, onFailure: failure.note });
  const { run } = executor;
  const reader = logReader(run, holderIn(database));
  const plants = plantsOn(executor, { timeout, maxRunning: foreground(database), reader, onInsert });
  const problemsNow = async () => [
    failure.problem(),
    ...(await problemsIn(database, endpoints)),
    await plants.heldBack().then(heldBackProblem, () => undefined),
  ];
  const { description, connectionUse, close } = database;
  return {
    ...plants,
    description,
    // If the database does not respond now, the gate determines the dialect later.
    hasFeed: async () => (await dialectOf(database).catch(() => postgres)).log !== undefined,
    ready: storeReadiness(problemsNow, database.withAdvice, log),
    positions: webhookPositions(run, endpoints, ensureRegistered),
    endpointStates: endpointStates(run),
    connections: connectionUse,
    // A scrape waits only briefly, and the next one must not start the queries again.
    heldBack: singleFlight(plants.heldBack),
    close,
  };
}

/** Longer than the limits of the service, since no client waits here. */
const STATEMENT_MS_MAX = 10_000;
const WORK_MS_MAX = 60_000;

/** @throws Error, saying what to do, if the database cannot be used */
export function withPostgres<Result>(
  options: PostgresOptions,
  work: (run: Run, heldBack: Maintenance['heldBack']) => Promise<Result>,
): Promise<Result> {
  return withDatabase({ ...options, statementTimeout: STATEMENT_MS_MAX }, async (database) => {
    await requireMigrations(database);
    const { run } = runner(database, { gate: () => dialectOf(database), timeout: WORK_MS_MAX });
    const { secondsNow } = heldBackTime(holderIn(database));
    return work(run, async () => heldBackProblem(await untilClear(secondsNow)));
  });
}

/**
 * Opens a database for a command, whatever its schema, and closes it once the work is done. First reports which one it is.
 *
 * @throws Error, saying what to do, if the work fails
 */
export async function withDatabase<Result>(
  options: PostgresOptions,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = postgresServer(options);
  say(`On: ${database.description}`);
  try {
    return await work(database);
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw database.withAdvice(error);
    // The message of the database is hidden from clients, but whoever runs a command needs it.
    const { message } = error.cause instanceof Error ? error.cause : error;
    throw new Error(`The database failed (${message}). Run the same command again once it works.`, { cause: error });
  } finally {
    await database.close();
  }
}

const POLL_INTERVAL_MS = 1_000;

/** Polls until the feed is clear or has long been held back. A role that cannot see for how long learns that by waiting. */
async function untilClear(heldBack: () => Promise<number>): Promise<number> {
  for (let before = 0; ; await delay(POLL_INTERVAL_MS)) {
    const seconds = await heldBack();
    if (seconds <= before || seconds > LONG_SECONDS_MIN) return seconds;
    before = seconds;
  }
}
