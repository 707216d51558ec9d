import { type Added, addition, isSamePlant, type NewPlant, type Stored, type ValidPlant } from '../domain/plant.ts';
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
  async function lookUp(ids: readonly bigint[]): Promise<Map<bigint, Stored>> {
    const stored = new Map<bigint, Stored>();
    for (let start = 0; start < ids.length; start += LOOK_UPS_MAX) {
      const batch = ids.slice(start, start + LOOK_UPS_MAX);
      const plants = await Promise.all(batch.map(find));
      for (const [n, id] of batch.entries()) stored.set(id, plants[n]);
    }
    return stored;
  }

  return async (list, { replaces, isCheck = false }) => {
    if (!replaces && !isCheck) return { outcomes: await addAll(list, false), changes: [] };
    const last = new Map(list.map((plant) => [plant.id, plant]));
    if (isCheck) {
      const stored = await lookUp([...last.keys()]);
      const changes = [...last.values()].flatMap((after) => {
        const before = stored.get(after.id);
        const isChange = typeof before === 'object' && addition(before, after, replaces) === 'changed';
        return isChange ? [{ before, after }] : [];
      });
      return { outcomes: inOrder(list, stored, replaces), changes: changes.slice(0, CHANGES_MAX) };
    }
    const repeatedIds = list.filter((plant) => last.get(plant.id) !== plant).map(({ id }) => id);
    const stored = await lookUp([...new Set(repeatedIds)]);
    const plants = [...last.values()];
    const outcomes = await addAll(plants, replaces);
    for (const [n, plant] of plants.entries())
      stored.set(plant.id, storedBefore(plant, outcomes[n], stored.get(plant.id)));
    return { outcomes: inOrder(list, stored, replaces), changes: [] };
  };
}

/** The outcome of each plant, given what was stored before. */
function inOrder(list: readonly ValidPlant[], stored: Map<bigint, Stored>, replaces: boolean): Added[] {
  return list.map((plant) => {
    const outcome = addition(stored.get(plant.id), plant, replaces);
    if (outcome === 'created' || outcome === 'changed') stored.set(plant.id, plant);
    return outcome;
  });
}

/** What the id of a plant held before that was added. @param earlier what a look-up had found, if there was one */
function storedBefore(plant: NewPlant, outcome: Added | undefined, earlier: Stored): Stored {
  if (outcome === 'created') return undefined;
  if (outcome === 'unchanged') return plant;
  if (outcome === 'id_retired') return 'deleted';
  const isOther = typeof earlier === 'object' && !isSamePlant(earlier, plant);
  return isOther ? earlier : { ...plant, name: `${plant.name}, another` };
}
