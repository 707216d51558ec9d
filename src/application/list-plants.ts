import { PlantStoreError } from '../domain/errors.ts';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../domain/plant.ts';
import { type PlantRange, type PlantRepository, rangeAfter } from './ports.ts';

/** Selects up to `limit` plants that come after an id and have the tag and the text, where these are given. */
interface ListQuery extends Pick<PlantRange, 'tag' | 'name' | 'order'> {
  readonly after?: bigint | undefined;
  readonly limit?: number | undefined;
  /** Aborts when the result is no longer needed. */
  readonly signal?: AbortSignal;
}

/** Plants in the order of the query. */
export interface PlantList {
  /** Empty for a search that comes in batches, since it may find nothing for long. */
  readonly first: readonly NewPlant[];
  /** The plants after `first`; undefined if the list is a page, or has no more. */
  readonly batches: AsyncIterable<readonly NewPlant[]> | undefined;
  /** The id after which the next page begins; undefined if there is none, or the list is no page. */
  readonly next: bigint | undefined;
}

/**
 * Lists plants. A plant that exists while the whole list is read is in it exactly once; the list is no snapshot. Up to
 * 1,000 plants are a page, which may be shorter if the store reads less at once; more come in batches.
 *
 * @throws PlantStoreError `store_unavailable` as the port does; so may the iteration over `batches`
 */
export type ListPlants = (query: ListQuery) => Promise<PlantList>;

/** Plants in a page. */
const PAGE_PLANTS_MAX = 1_000;

export function listPlants({ list }: Pick<PlantRepository, 'list'>): ListPlants {
  return async ({ after, tag, name, order, limit = Number.POSITIVE_INFINITY, signal }) => {
    if (after === (order === 'desc' ? MIN_INT64 : MAX_INT64)) return { first: [], batches: undefined, next: undefined };
    const all = { from: MIN_INT64, to: MAX_INT64, tag, name, order };
    const range = after === undefined ? all : rangeAfter(all, after);
    if (limit <= PAGE_PLANTS_MAX) {
      // A client that has only closed its side still gets its page, but a search is aborted.
      const { plants, next } = await list(range, limit, name === undefined ? undefined : signal);
      return { first: plants, batches: undefined, next };
    }
    if (name !== undefined) return { first: [], batches: readBatches(range, limit, signal), next: undefined };
    // The first plants are read as a page is: a list that is then refused, because too many are streamed, delays none.
    const { plants, next } = await list(range, PAGE_PLANTS_MAX);
    const batches =
      next === undefined ? undefined : readBatches(rangeAfter(range, next), limit - plants.length, signal);
    return { first: plants, batches, next: undefined };
  };

  /** Reads the plants of a range in batches, each while the consumer uses the one before. */
  async function* readBatches(range: PlantRange, limit: number, signal: AbortSignal | undefined) {
    let from = range;
    let left = limit;
    let nextBatch = list(from, left, signal);
    for (;;) {
      const { plants, next } = await nextBatch;
      // A client that has only closed its side still gets what is found. Sending it shows whether the client has left.
      if (signal?.aborted && plants.length === 0 && next !== undefined) {
        throw new PlantStoreError('store_unavailable', 'the client has left');
      }
      left -= plants.length;
      const isOver = next === undefined || left === 0;
      if (!isOver) {
        from = rangeAfter(from, next);
        nextBatch = list(from, left, signal);
        // The next `await nextBatch` throws the error, unless the consumer has stopped.
        nextBatch.catch(() => {});
      }
      if (plants.length > 0) yield plants;
      if (isOver) return;
    }
  }
}
