import { MAX_INT64, MIN_INT64 } from '../domain/plant.ts';
import type { ListQuery } from './list-plants.ts';
import type { PlantCount, PlantRepository } from './ports.ts';

/**
 * Counts the plants with the tag and the text, if given. It stops at 10,000 of them.
 *
 * @throws PlantStoreError `store_unavailable` as the port does
 */
type CountPlants = (query: Pick<ListQuery, 'tag' | 'name' | 'signal'>) => Promise<PlantCount>;

/** SQL looks at each row that it counts, and totals that are kept up to date would make every create wait for one row. */
const COUNT_MAX = 10_000;

export function countPlants({ count }: Pick<PlantRepository, 'count'>): CountPlants {
  return ({ signal, ...range }) => count({ from: MIN_INT64, to: MAX_INT64, ...range }, COUNT_MAX, signal);
}
