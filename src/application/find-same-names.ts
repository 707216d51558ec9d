import { MAX_INT64, MIN_INT64, type NewPlant } from '../domain/plant.ts';
import { BATCH, rangeAfter } from './list-plants.ts';
import type { PlantStore } from './ports.ts';

/** Whose name a plant of a list has: that of a stored plant with another id, or of one before it in the list. */
export type SameName = 'same_name' | 'repeated';

/**
 * Compares the names of a list with those of all plants, which are read in the background, since there is no index on them.
 *
 * @returns for each plant of the list whose name it has; undefined if there are too many plants, or it takes too long
 * @throws PlantStoreError as the port does
 */
type FindSameNames = (list: readonly NewPlant[]) => Promise<(SameName | undefined)[] | undefined>;

/** Plants that are compared, and milliseconds for that. */
const MAX_COMPARED = 200_000;
const MAX_TIME = 5_000;

/** @param now the time in milliseconds */
export function findSameNames({ scan }: Pick<PlantStore, 'scan'>, now = () => performance.now()): FindSameNames {
  return async (list) => {
    const ids = new Map<string, bigint>();
    const repeated = list.map(({ name, id }) => ids.has(name) || !ids.set(name, id));
    const stored = new Set<string>();
    // Those that were stored by the same request before.
    const own = new Set<string>();
    const end = now() + MAX_TIME;
    let range = { from: MIN_INT64, to: MAX_INT64 };
    for (let compared = 0; ; ) {
      const { plants, lastId, isLast } = await scan(range, BATCH);
      for (const { id, name } of plants) if (ids.has(name)) (ids.get(name) === id ? own : stored).add(name);
      compared += plants.length;
      if (isLast) break;
      if (compared >= MAX_COMPARED || now() >= end) return undefined;
      range = rangeAfter(range, lastId);
    }
    const isStored = (name: string) => stored.has(name) && !own.has(name);
    return list.map(({ name }, n) => (repeated[n] ? 'repeated' : isStored(name) ? 'same_name' : undefined));
  };
}
