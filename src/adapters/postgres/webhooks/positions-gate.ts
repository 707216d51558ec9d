import type { Logger } from 'pino';
import type { KeepPositions } from '../../../application/webhooks/ports.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import { sharedRun } from '../calls/shared-run.ts';
import { SchemaError, sqlState } from '../errors.ts';

const MISSING_RIGHT = '42501';

/**
 * Creates the check before every use of the plants, which remembers success: the schema is ready, and every endpoint has
 * its place in the feed. What is written before would not be announced.
 *
 * @param schemaReady as for the store's calls
 * @returns a function like `schemaReady`. What only an operator can change does not hold up the plants; it is logged
 */
export function positionsGate(
  endpoints: readonly string[],
  { add }: Pick<KeepPositions, 'add'>,
  schemaReady: () => Promise<void> | undefined,
  log: Logger,
): () => Promise<void> | undefined {
  let passed = false;
  const check = sharedRun(async () => {
    await schemaReady();
    try {
      await Promise.all(endpoints.map(add));
    } catch (err) {
      if (!needsOperator(err)) throw err;
      log.error({ err }, 'plants are accepted, but not announced by webhooks until the database permits it');
    }
    passed = true;
  });
  return () => (passed ? undefined : check());
}

/** Whether it lacks a right or the feed of changes. */
function needsOperator(error: unknown): boolean {
  if (!(error instanceof PlantStoreError)) return false;
  const { code, cause } = error;
  if (code === 'changes_unavailable' || cause instanceof SchemaError) return true;
  return cause instanceof Error && sqlState(cause) === MISSING_RIGHT;
}
