import type { Logger } from 'pino';
import { singleFlight } from '../../runtime/single-flight.ts';
import type { Gate } from '../sql/run.ts';
import { enterEndpoints } from '../sql/webhooks/endpoints.ts';
import type { Database } from './connections/pool.ts';
import { needsOperator } from './failures.ts';
import { sessionOn } from './schema/schema-gate.ts';

/**
 * Registers each new endpoint at the end of the feed, once (docs/adr/0011-webhooks-on-the-log.md).
 *
 * @returns a function that resolves once all are registered, and returns undefined from then on. It rejects with the errors
 * of the database, and as requireLog does
 */
export function registerEndpoints(database: Database, endpoints: readonly string[]): () => Promise<void> | undefined {
  let isDone = false;
  const enter = singleFlight(async () => {
    await enterEndpoints(await sessionOn(database), endpoints);
    isDone = true;
  });
  return () => (isDone ? undefined : enter());
}

/**
 * Creates the check before every write of plants: the schema is ready, and every endpoint is registered, since earlier writes
 * are not announced. Missing rights, a missing table and a damaged feed are logged, and block nothing.
 */
export function registrationGate(
  ensureRegistered: () => Promise<void> | undefined,
  schemaReady: Gate,
  log: Pick<Logger, 'error'>,
): Gate {
  let hasPassed = false;
  const pass = singleFlight(async () => {
    const dialect = await schemaReady();
    try {
      await ensureRegistered();
    } catch (err) {
      if (!needsOperator(err)) throw err;
      log.error({ err }, 'plants are accepted, but not announced by webhooks until the database permits it');
    }
    hasPassed = true;
    return dialect;
  });
  return () => (hasPassed ? schemaReady() : pass());
}
