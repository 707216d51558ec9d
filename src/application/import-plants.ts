import { type Added, addition, type NewPlant, type Stored, type ValidPlant } from '../domain/plant.ts';
import type { PlantRepository } from './ports.ts';

interface ImportOptions {
  /** Whether a plant replaces a different one with its id. */
  readonly replaces: boolean;
  /** Whether the outcomes are only predicted by a look-up, and nothing is stored. */
  readonly isCheck?: boolean;
}

interface Imported {
  /** The outcome of each plant. */
  readonly outcomes: readonly Added[];
  /** The first plants that a check predicts to change, before and after that. */
  readonly changes: readonly { readonly before: NewPlant; readonly after: NewPlant }[];
}

/**
 * Stores a list of plants as if one after another, and resolves to the outcome of each once all are durable. If plants of the
 * list replace each other, only the last one is written. A list is finished even if its client has left: a client that has
 * only closed its side could otherwise never get it stored by sending it again.
 *
 * @throws PlantStoreError `store_unavailable` if the outcome of a plant is unknown. Any part of the list may be stored then,
 * and a statement that has timed out may still run
 */
export type ImportPlants = (list: readonly ValidPlant[], options: ImportOptions) => Promise<Imported>;

/** Concurrent look-ups of an import, beside those of other clients. */
const LOOK_UPS_MAX = 256;
const CHANGES_MAX = 20;

export function importPlants({ addAll, find }: Pick<PlantRepository, 'addAll' | 'find'>): ImportPlants {
  async function lookUp(plants: readonly NewPlant[]): Promise<Map<bigint, Stored>> {
    const ids = [...new Set(plants.map(({ id }) => id))];
    const stored = new Map<bigint, Stored>();
    while (ids.length > 0) {
      const slice = ids.splice(-LOOK_UPS_MAX);
      for (const [n, plant] of (await Promise.all(slice.map(find))).entries()) stored.set(slice[n] as bigint, plant);
    }
    return stored;
  }

  return async (list, { replaces, isCheck = false }) => {
    if (!replaces && !isCheck) return { outcomes: await addAll(list, false), changes: [] };
    const last = new Map(list.map((plant) => [plant.id, plant]));
    const before = await lookUp(isCheck ? list : list.filter((plant) => last.get(plant.id) !== plant));
    const stored = new Map(before);
    const predicted = list.map((plant) => {
      const outcome = addition(stored.get(plant.id), plant, replaces);
      if (outcome === 'created' || outcome === 'changed') stored.set(plant.id, plant);
      return outcome;
    });
    if (isCheck) {
      const changes = [...last.values()].flatMap((after) => {
        const plant = before.get(after.id);
        const isChange = typeof plant === 'object' && addition(plant, after, replaces) === 'changed';
        return isChange ? [{ before: plant, after }] : [];
      });
      return { outcomes: predicted, changes: changes.slice(0, CHANGES_MAX) };
    }
    const added = await addAll([...last.values()], true);
    const written = new Map([...last.keys()].map((id, n) => [id, added[n] as Added]));
    // Of several plants with an id only the last one was written, and its outcome is not that of the others.
    const outcomes = list.map(({ id }, n) => {
      const outcome = written.get(id) as Added;
      return before.has(id) && ![outcome, predicted[n]].includes('id_retired') ? (predicted[n] as Added) : outcome;
    });
    return { outcomes, changes: [] };
  };
}
