import { PlantStoreError } from '../domain/errors.ts';
import { isSamePlant, type NewPlant } from '../domain/plant.ts';
import type { PlantStore, Written } from './ports.ts';

/** What became of a plant of a list. */
export type ImportOutcome = 'created' | 'changed' | 'unchanged' | 'id_taken' | 'id_retired';

interface ImportOptions {
  /** Whether a plant replaces a different one with its id. */
  readonly replaces: boolean;
  /** Aborts when nobody waits for the outcomes any more. */
  readonly signal: AbortSignal;
}

/**
 * Stores a list of plants that meet the rules of their fields, and resolves to the outcome of each once all are durable.
 * It is as if they were created, or changed, one after another.
 *
 * @throws PlantStoreError `store_unavailable` if the outcome of a plant is not known, or the signal has aborted before all
 * was done. Any part of it may be done then, and a statement that has timed out may still run
 */
export type ImportPlants = (list: readonly NewPlant[], options: ImportOptions) => Promise<ImportOutcome[]>;

/** Plants that the store gets together. */
const GROUP = 256;

export function importPlants({ write }: Pick<PlantStore, 'write'>): ImportPlants {
  return async (list, { replaces, signal }) => {
    const outcomes: ImportOutcome[] = [];
    for (let start = 0; start < list.length; start += GROUP) {
      // Not before the first group: a client that has half-closed its connection still gets the response to a short list.
      if (start > 0 && signal.aborted) throw new PlantStoreError('store_unavailable', 'the client has left');
      const group = list.slice(start, start + GROUP);
      const writes = group.map((plant) => ({ id: plant.id, target: plant, adds: true, replaces: () => replaces }));
      for (const [index, written] of (await Promise.allSettled(await write(writes, true))).entries()) {
        if (written.status === 'rejected') throw written.reason;
        outcomes.push(outcomeOf(written.value, group[index] as NewPlant));
      }
    }
    return outcomes;
  };
}

function outcomeOf({ before, after }: Written, plant: NewPlant): ImportOutcome {
  if (before === undefined) return 'created';
  if (before === 'deleted') return 'id_retired';
  if (isSamePlant(before, plant)) return 'unchanged';
  return typeof after === 'object' && isSamePlant(after, plant) ? 'changed' : 'id_taken';
}
