import type { Logger } from 'pino';
import { PlantStoreError } from '../../domain/errors.ts';
import type { Dialect } from '../sql/dialect.ts';
import type { Gate } from '../sql/run.ts';
import { enterEndpoints } from '../sql/webhooks/endpoints.ts';
import { sessionOn } from './change-log.ts';
import type { Database } from './database.ts';
import { failureOf, SchemaError } from './failures.ts';
import { repeatedCheck } from './repeated-check.ts';

/**
 * Gives each endpoint that is not known a place at the end of the feed, once (docs/adr/0011-webhooks-on-the-log.md).
 *
 * @returns a function that resolves once all have a place, and returns undefined from then on. It rejects with the
 * errors of the database, and as requireLog does
 */
export function registerEndpoints(database: Database, endpoints: readonly string[]): () => Promise<void> | undefined {
  return repeatedCheck(async () => enterEndpoints(await sessionOn(database), endpoints));
}

/**
 * Creates the check before every write of plants: the schema is ready, and every endpoint has its place in the feed, since
 * what is written before is not announced. Missing rights, a missing table and a damaged feed are logged, and block nothing.
 */
export function registrationGate(
  ensureRegistered: () => Promise<void> | undefined,
  schemaReady: Gate,
  log: Logger,
): Gate {
  const entered = repeatedCheck(async () => {
    try {
      await ensureRegistered();
    } catch (err) {
      if (!needsOperator(err)) throw err;
      log.error({ err }, 'plants are accepted, but not announced by webhooks until the database permits it');
    }
  });
  const after = (dialect: Dialect) => entered()?.then(() => dialect) ?? dialect;
  return () => {
    const passed = schemaReady();
    return passed instanceof Promise ? passed.then(after) : after(passed);
  };
}

/** Whether the database lacks a right, a table or the feed of changes. */
function needsOperator(error: unknown): boolean {
  if (error instanceof PlantStoreError) return error.code === 'changes_unavailable';
  const { state, isTableMissing } = failureOf(error);
  return error instanceof SchemaError || isTableMissing || state === '42501';
}
