import { MAX_INT64, MIN_INT64 } from '../domain/plant.ts';
import type { PlantCount, PlantRange, PlantRepository } from './ports.ts';

/**
 * Counts up to 10,000 plants with the tag and the text, where these are given.
 *
 * @throws PlantStoreError `store_unavailable` as the port does
 */
export type CountPlants = (
  query: Pick<PlantRange, 'tag' | 'name'> & { readonly signal?: AbortSignal },
) => Promise<PlantCount>;

/** SQL reads each row that it counts, and a total that is kept up to date would make every create wait for one row. */
const COUNT_MAX = 10_000;

export function countPlants({ count }: Pick<PlantRepository, 'count'>): CountPlants {
  return ({ signal, ...range }) => count({ from: MIN_INT64, to: MAX_INT64, ...range }, COUNT_MAX, signal);
}
