import { PlantStoreError } from '../domain/errors.ts';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../domain/plant.ts';
import type { Order, PlantRange, PlantStore } from './ports.ts';

/** Which plants are wanted: those that come after an id, with the tag and the text, if given, at most `limit` of them. */
export interface ListQuery {
  readonly after?: bigint | undefined;
  readonly tag?: string | undefined;
  /** In their names, letters in either case. Not empty. */
  readonly name?: string | undefined;
  readonly limit?: number | undefined;
  /** Of ids; ascending if it is not given. */
  readonly order?: Order | undefined;
  /** Aborts when nobody wants the result any more. */
  readonly signal?: AbortSignal;
}

/** Plants in the order of the query. */
export interface PlantList {
  /** Empty for a search that comes in batches, since it may find nothing for long. */
  readonly first: readonly NewPlant[];
  /** Those after the first, in batches; undefined if the list is a page, or has no more. */
  readonly others: AsyncIterable<readonly NewPlant[]> | undefined;
  /** The id after which the next page begins; undefined if there is none, or the list is no page. */
  readonly next: bigint | undefined;
}

/**
 * Lists plants. A plant that exists while the whole list is read is in it exactly once; the list is no snapshot. Up to
 * 1,000 plants are a page, which is read as a whole and may end early once it has taken a second; more come in batches.
 *
 * @throws PlantStoreError `store_unavailable` as the port does; so may the iteration over `others`
 */
type ListPlants = (query: ListQuery) => Promise<PlantList>;

/** Milliseconds after which a page ends, though it has fewer plants or tags than were wanted: searches may take long. */
export const PAGE_TIME = 1_000;

/** Plants in a page. */
const PAGE_PLANTS = 1_000;

/** Plants in one batch. */
export const BATCH = 2_000;

/** What the store does for lists. */
type ScanPlants = Pick<PlantStore, 'scan'>;

/** @param now the time in milliseconds */
export function listPlants(store: ScanPlants, now = () => performance.now()): ListPlants {
  return async ({ after, tag, name, order, limit = Number.POSITIVE_INFINITY, signal }) => {
    if (after === endOf(order)) return { first: [], others: undefined, next: undefined };
    const all = { from: MIN_INT64, to: MAX_INT64, tag, name, order };
    const range = after === undefined ? all : rangeAfter(all, after);
    if (limit <= PAGE_PLANTS) {
      const end = now() + PAGE_TIME;
      return readPage(store, range, limit, () => now() >= end || (name !== undefined && signal?.aborted === true));
    }
    if (name !== undefined) return { first: [], others: batches(store, range, limit, signal), next: undefined };
    // In the foreground, as a page: a list that is refused then, since too many are streamed, holds up no stream.
    const { plants, lastId: last, isLast } = await store.scan(range, PAGE_PLANTS);
    const others = isLast ? undefined : batches(store, rangeAfter(range, last), limit - plants.length, signal);
    return { first: plants, others, next: undefined };
  };
}

async function readPage(
  { scan }: ScanPlants,
  range: PlantRange,
  limit: number,
  isTimeUp: () => boolean,
): Promise<PlantList> {
  const found: NewPlant[] = [];
  const pageTo = (next: bigint | undefined) => ({ first: found.slice(0, limit), others: undefined, next });
  // One more shows whether there is a next page. A search may have to go on for long to find it.
  const wanted = range.name === undefined ? limit + 1 : limit;
  for (let from = range; ; ) {
    const { plants, lastId, isLast } = await scan(from, wanted - found.length);
    found.push(...plants);
    if (found.length > limit) return pageTo(found[limit - 1]?.id);
    if (isLast) return pageTo(undefined);
    if (found.length === wanted || isTimeUp()) return pageTo(lastId);
    from = rangeAfter(from, lastId);
  }
}

/** The plants of a range in batches. The next one is read while the last one is being used. */
async function* batches(
  { scan }: ScanPlants,
  range: PlantRange,
  limit: number,
  signal?: AbortSignal,
): AsyncIterable<readonly NewPlant[]> {
  let from = range;
  let left = limit;
  let reading = scan(from, Math.min(left, BATCH));
  for (;;) {
    const { plants, lastId, isLast } = await reading;
    // A client that has only closed its side still gets what is found; what is sent shows whether the client is there.
    if (signal?.aborted && plants.length === 0 && !isLast)
      throw new PlantStoreError('store_unavailable', 'the client has left');
    left -= plants.length;
    const isOver = isLast || left === 0;
    if (!isOver) {
      from = rangeAfter(from, lastId);
      reading = scan(from, Math.min(left, BATCH));
      // The next `await reading` throws the error, unless the consumer has stopped.
      reading.catch(() => {});
    }
    if (plants.length > 0) yield plants;
    if (isOver) return;
  }
}

/** Where an order ends. */
function endOf(order: Order | undefined): bigint {
  return order === 'desc' ? MIN_INT64 : MAX_INT64;
}

/** What follows an id of a range. @param id if none is given, the first one */
export function rangeAfter(range: PlantRange, id: bigint | undefined): PlantRange {
  return range.order === 'desc' ? { ...range, to: (id ?? range.to) - 1n } : { ...range, from: (id ?? range.from) + 1n };
}
