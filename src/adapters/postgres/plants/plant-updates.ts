import { setTimeout as delay } from 'node:timers/promises';
import type { Condition, UpdatePlant } from '../../../application/ports.ts';
import type { Stored } from '../../../domain/plant.ts';
import { batcher } from '../calls/batcher.ts';
import { maxRunning } from '../calls/connection-shares.ts';
import type { CallStore } from '../calls/store-call.ts';
import type { Database } from '../database.ts';
import { DeadlineError } from '../errors.ts';
import { isOutcomeUnknown, mayBeAnothers, toPortError } from '../failures.ts';
import { textLength, WRITTEN_TEXT } from './plant-columns.ts';
import type { FoundPlant, PlantLookup } from './plant-lookup.ts';
import { type Change, planUpdate } from './update-plan.ts';
import { distributedUpdate, rowUpdates, type Update } from './update-statements.ts';

/** Changes in one statement. */
const BATCH = 256;

/** What is stored after a change; or that its row was changed or locked by another transaction. */
type Outcome = { readonly stored: Stored } | 'retry';

/** Milliseconds until a row that another transaction has changed or locked is read again. */
const RETRY_DELAY = 10;

/**
 * Changes and deletes plants in batches: one look-up of what is stored, and one UPDATE of the rows that are still at
 * the version that was found. So an UPDATE that runs late, after its connection was lost, does nothing if the row has
 * changed since, whatever it contains then. A deletion without a condition may run late, and is repeated if its outcome
 * is unknown: a deleted plant stays deleted.
 *
 * @param onUpdate called after each UPDATE
 */
export function plantUpdates(
  database: Database,
  lookUp: PlantLookup,
  callStore: CallStore,
  onUpdate: () => void,
): UpdatePlant & { readonly running: () => number } {
  const batches = (update: Update, maxItems: number) =>
    batcher<Change, Outcome>({
      run: (changes) => run(changes, update),
      mayBeAnothers,
      maxItems,
      maxSize: WRITTEN_TEXT,
      sizeOf: ({ target }) => (target === 'deleted' ? 0 : textLength(target)),
      maxRunning: maxRunning(database, 'updates'),
      letRequestsArrive: database.letRequestsArrive,
    });
  const inBatch = batches(rowUpdates(database), BATCH);
  const alone = batches(distributedUpdate(database), 1);

  async function run(changes: readonly Change[], update: Update): Promise<readonly (Outcome | Promise<Outcome>)[]> {
    const ids = changes.filter(({ needsLookUp }) => needsLookUp).map(({ id }) => id);
    const found = ids.length > 0 ? await lookUp(ids) : new Map<bigint, FoundPlant>();
    const { outcomes, rows } = planUpdate(changes, found);
    const outdated = new Set(rows.map(({ id }) => id));
    let lost: unknown;
    if (rows.length > 0) {
      try {
        for (const id of await update(rows)) outdated.delete(id);
        onUpdate();
      } catch (error) {
        if (!isOutcomeUnknown(error)) throw error;
        lost = error;
      }
    }
    return changes.map((change, n) => {
      if (!outdated.has(change.id)) return { stored: outcomes[n] };
      if (lost === undefined) return 'retry';
      return Promise.reject(isUnconditionalDeletion(change) ? lost : toPortError(lost));
    });
  }

  function change(id: bigint, target: Change['target'], condition?: Condition): Promise<Stored> {
    const isUnconditional = isUnconditionalDeletion({ target, condition });
    return callStore(
      async (call) => {
        const add = (await database.isDistributed()) ? alone : inBatch;
        for (let needsLookUp = !isUnconditional; call.isOpen; needsLookUp = true) {
          const outcome = await add({ id, target, condition, needsLookUp, call }, call);
          if (outcome !== 'retry') return outcome.stored;
          await delay(RETRY_DELAY);
        }
        throw new DeadlineError(`plant ${id} stayed locked, or kept changing, until the call timed out`);
      },
      // A deletion that may still run could delete a plant that is created later.
      (stored) => !isUnconditional || stored === 'deleted',
    );
  }

  return {
    replace: (plant, condition) => change(plant.id, plant, condition),
    remove: (id, condition) => change(id, 'deleted', condition),
    running: () => inBatch.running() + alone.running(),
  };
}

function isUnconditionalDeletion({ target, condition }: Pick<Change, 'target' | 'condition'>): boolean {
  return target === 'deleted' && condition === undefined;
}
