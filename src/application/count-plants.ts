import { MAX_INT64, MIN_INT64 } from '../domain/plant.ts';
import { BATCH, type ListQuery, PAGE_TIME, rangeAfter } from './list-plants.ts';
import type { PlantRange, PlantStore } from './ports.ts';

interface PlantCount {
  readonly count: number;
  /** Whether there are no more. */
  readonly isExact: boolean;
}

/**
 * Counts the plants with the tag and the text, if given. It stops at 10,000 of them, and after a second.
 *
 * @throws PlantStoreError `store_unavailable` as the port does
 */
type CountPlants = (query: Pick<ListQuery, 'tag' | 'name' | 'signal'>) => Promise<PlantCount>;

const MOST = 10_000;

/** @param now the time in milliseconds */
export function countPlants({ scan }: Pick<PlantStore, 'scan'>, now = () => performance.now()): CountPlants {
  return async ({ tag, name, signal }) => {
    const end = now() + PAGE_TIME;
    let range: PlantRange = { from: MIN_INT64, to: MAX_INT64, tag, name };
    for (let found = 0; ; ) {
      const { plants, lastId, isLast } = await scan(range, BATCH);
      found += plants.length;
      const isOver = isLast || found > MOST || now() >= end || signal?.aborted;
      if (isOver) return { count: Math.min(found, MOST), isExact: isLast && found <= MOST };
      range = rangeAfter(range, lastId);
    }
  };
}
