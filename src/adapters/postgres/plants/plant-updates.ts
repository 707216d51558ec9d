import { setTimeout as delay } from 'node:timers/promises';
import type { Condition, UpdatePlant } from '../../../application/ports.ts';
import type { Stored } from '../../../domain/plant.ts';
import { batcher } from '../calls/batcher.ts';
import type { CallStore } from '../calls/store-call.ts';
import type { Database } from '../database.ts';
import { DeadlineError } from '../errors.ts';
import { isOutcomeUnknown, outcomeUnknown, shouldRetryAlone } from '../failures.ts';
import type { FoundPlant, PlantLookup } from './plant-lookup.ts';
import { type Change, type Outcome, planUpdate } from './update-plan.ts';
import { distributedUpdate, rowUpdates, type Update } from './update-statements.ts';

/** Changes in one statement. */
const BATCH = 256;

/** UTF-16 units of text in one statement. */
const BATCH_TEXT = 1_000_000;

/** The share of the connections that changes may use at once. */
const SHARE = 0.5;

/** Milliseconds until a row that another transaction has changed or locked is read again. */
const RETRY_DELAY = 10;

/**
 * Changes and deletes plants in batches: one look-up of what is stored, and one UPDATE of the rows that are still at the
 * version that was found. So an UPDATE that runs late, after its connection was lost, does nothing if the row has changed
 * since, whatever it contains then. A deletion of any plant may run late: what is deleted stays so.
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
      shouldRetryAlone,
      maxItems,
      maxSize: BATCH_TEXT,
      sizeOf: ({ target }) => (target === 'deleted' ? 0 : target.name.length + (target.tag ?? '').length),
      maxRunning: Math.ceil(database.connections * SHARE),
      gather: database.gather,
    });
  const inBatch = batches(rowUpdates(database), BATCH);
  const alone = batches(distributedUpdate(database), 1);

  async function run(changes: readonly Change[], update: Update): Promise<readonly Outcome[]> {
    const ids = changes.filter(({ needsLookUp }) => needsLookUp).map(({ id }) => id);
    const found = ids.length > 0 ? await lookUp(ids) : new Map<bigint, FoundPlant>();
    const { outcomes, rows } = planUpdate(changes, found);
    if (rows.length === 0) return outcomes;
    const updated = await update(rows).catch((error) => {
      // It may have succeeded, or may still do so.
      const uncertain = isOutcomeUnknown(error) ? changes : [];
      for (const change of uncertain) change.uncertain ??= change.needsLookUp ? found.get(change.id)?.version : 'any';
      throw error;
    });
    onUpdate();
    const isOutdated = new Set(rows.map(({ id }) => id).filter((id) => !updated.has(id)));
    return changes.map((change, index) => {
      if (!isOutdated.has(change.id)) return outcomes[index] as Outcome;
      change.needsLookUp = true;
      return 'retry';
    });
  }

  function change(id: bigint, target: Change['target'], condition?: Condition): Promise<Stored> {
    const needsLookUp = target !== 'deleted' || condition !== undefined;
    const wanted: Change = { id, target, condition, needsLookUp, uncertain: undefined };
    return callStore(async (call) => {
      const add = (await database.isDistributed()) ? alone : inBatch;
      while (call.isOpen) {
        const outcome = await add(wanted, call);
        if (outcome === 'unknown') throw outcomeUnknown();
        if (outcome !== 'retry') return outcome.stored;
        await delay(RETRY_DELAY);
      }
      throw new DeadlineError(`plant ${id} stayed locked, or kept changing, until the call timed out`);
    });
  }

  return {
    replace: (plant, condition) => change(plant.id, plant, condition),
    remove: (id, condition) => change(id, 'deleted', condition),
    running: () => inBatch.running() + alone.running(),
  };
}
