import { type PostgresOptions, postgresServer } from '../adapters/postgres/connections/pool.ts';
import { failureOf } from '../adapters/postgres/failures.ts';
import { readiness } from '../adapters/postgres/readiness.ts';
import { registerEndpoints, registrationGate } from '../adapters/postgres/registration.ts';
import { withAdvice } from '../adapters/postgres/schema/advice.ts';
import { migrationGate } from '../adapters/postgres/schema/schema-gate.ts';
import { postgresStore } from '../adapters/postgres/store.ts';
import { recentFailure } from '../adapters/sql/recent-failure.ts';
import { runner } from '../adapters/sql/run.ts';
import { endpointStates } from '../adapters/sql/webhooks/endpoints.ts';
import { webhookPositions } from '../adapters/sql/webhooks/positions.ts';
import { PlantStoreError } from '../domain/errors.ts';
import { singleFlight } from '../process/single-flight.ts';
import type { Store, StoreOptions } from './store.ts';

/** A store on Postgres. Plants may be written once the schema is ready and each endpoint has its place in the feed. */
export function openPostgresStore(
  options: PostgresOptions,
  { storeTimeout: timeout, webhooks, log, onInsert }: StoreOptions,
): Store {
  const database = postgresServer(options, log);
  const names = webhooks.map(({ name }) => name);
  const failure = recentFailure(failureOf);
  const gate = migrationGate(database, log);
  const ensureRegistered = registerEndpoints(database, names);
  const writeGate = names.length === 0 ? gate : registrationGate(ensureRegistered, gate, log);
  const run = runner(database, { gate, writeGate, timeout, onFailure: failure.note, withAdvice });
  const { heldBack, ...store } = postgresStore(database, { run, timeout, onInsert });
  const { description, connectionUse, dialect, close } = database;
  return {
    ...store,
    description,
    // If the database does not respond now, the gate finds out later.
    hasFeed: async () => !((await dialect().catch(() => undefined))?.log instanceof PlantStoreError),
    ready: readiness(database, webhooks, { log, failure, heldBack }),
    positions: webhookPositions(run, names, ensureRegistered),
    endpointStates: singleFlight(endpointStates(run)),
    measures: {
      connections: connectionUse,
      // A scrape does not wait for them for long, and the next one must not begin them again.
      changesLag: singleFlight(heldBack),
    },
    close,
  };
}
