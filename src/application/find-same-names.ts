import { MAX_INT64, MIN_INT64, type NewPlant } from '../domain/plant.ts';
import { type PlantRange, type PlantRepository, rangeAfter } from './ports.ts';

/** Whose name a plant of a list has: that of a stored plant with another id, or of one before it in the list. */
export type SameName = 'same_name' | 'repeated';

/**
 * Compares the names of a list with those of all plants, which are read in the background, since there is no index on them.
 *
 * @returns for each plant of the list whose name it has; undefined if there are too many plants
 * @throws PlantStoreError as the port does
 */
type FindSameNames = (list: readonly NewPlant[]) => Promise<(SameName | undefined)[] | undefined>;

/** Plants that are compared. */
const MAX_COMPARED = 200_000;

export function findSameNames({ list }: Pick<PlantRepository, 'list'>): FindSameNames {
  return async (plants) => {
    const ids = new Map<string, bigint>();
    const repeated = plants.map(({ name, id }) => ids.has(name) || !ids.set(name, id));
    const stored = new Set<string>();
    // Those that were stored by the same request before.
    const own = new Set<string>();
    let range: PlantRange = { from: MIN_INT64, to: MAX_INT64 };
    for (let left = MAX_COMPARED; ; ) {
      const { plants: others, next } = await list(range, left);
      for (const { id, name } of others) if (ids.has(name)) (ids.get(name) === id ? own : stored).add(name);
      left -= others.length;
      if (next === undefined) break;
      if (left === 0) return undefined;
      range = rangeAfter(range, next);
    }
    const isStored = (name: string) => stored.has(name) && !own.has(name);
    return plants.map(({ name }, n) => (repeated[n] ? 'repeated' : isStored(name) ? 'same_name' : undefined));
  };
}
