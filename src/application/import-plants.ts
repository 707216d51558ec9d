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
  /** The first plants that change, before and after that. */
  readonly changes: readonly { readonly before: NewPlant; readonly after: NewPlant }[];
}

/**
 * Stores a list of plants as if one after another, and resolves to the outcome of each once all are durable. Of plants with one id
 * only the first is written, or the last if they replace each other. A list is finished even if its client has left: a client
 * that has only closed its side could otherwise never get it stored by sending it again.
 *
 * @throws PlantStoreError `store_unavailable` if the outcome of a plant is unknown. Any part of the list may be stored then,
 * and a statement that has timed out may still run
 */
export type ImportPlants = (list: readonly ValidPlant[], options: ImportOptions) => Promise<Imported>;

/** Concurrent look-ups of an import, beside those of other clients. */
const LOOK_UPS_MAX = 256;
const CHANGES_MAX = 20;

export function importPlants({ addAll, find }: Pick<PlantRepository, 'addAll' | 'find'>): ImportPlants {
  async function lookUp(plants: readonly NewPlant[]): Promise<Stored[]> {
    const stored: Stored[] = [];
    for (let start = 0; start < plants.length; start += LOOK_UPS_MAX) {
      const part = plants.slice(start, start + LOOK_UPS_MAX);
      stored.push(...(await Promise.all(part.map(({ id }) => find(id)))));
    }
    return stored;
  }

  return async (list, { replaces, isCheck = false }) => {
    const byId = new Map<bigint, ValidPlant>();
    for (const plant of list) if (replaces || !byId.has(plant.id)) byId.set(plant.id, plant);
    const plants = [...byId.values()];
    const before = isCheck ? await lookUp(plants) : await addAll(plants, replaces);
    const stored = new Map(plants.map(({ id }, n) => [id, before[n]]));
    const outcomes = list.map((plant) => {
      const outcome = addition(stored.get(plant.id), plant, replaces);
      if (outcome === 'created' || outcome === 'changed') stored.set(plant.id, plant);
      return outcome;
    });
    const changes = plants.flatMap((after, n) => {
      const plant = before[n];
      const isChange = typeof plant === 'object' && addition(plant, after, replaces) === 'changed';
      return isChange ? { before: plant, after } : [];
    });
    return { outcomes, changes: changes.slice(0, CHANGES_MAX) };
  };
}
