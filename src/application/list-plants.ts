import { PlantStoreError } from '../domain/errors.ts';
import { MAX_INT64, MIN_INT64 } from '../domain/plant.ts';
import type { Order, PlantRange, ReadPlants } from './ports.ts';

/** Which plants are wanted: those that come after an id, with the tag and the text, if given, at most `limit` of them. */
export interface ListQuery {
  readonly after?: bigint | undefined;
  readonly tag?: string | undefined;
  /** In their names, letters in either case. Not empty. */
  readonly name?: string | undefined;
  readonly limit?: number | undefined;
  /** Of ids; ascending if it is not given. */
  readonly order?: Order | undefined;
  /** Called for a search or what comes in batches: aborts when nobody wants the result any more. */
  readonly leaving?: () => AbortSignal;
}

/** Plants in the order of the query, as JSON records separated by line feeds. */
export interface PlantList {
  /** Empty for a search that comes in batches, since it may find nothing for long. */
  readonly first: string;
  /** Those after the first, in batches; undefined if the list is a page, or has no more. */
  readonly others: AsyncIterable<string> | undefined;
  /** The id after which the next page begins; undefined if there is none, or the list is no page. */
  readonly next: bigint | undefined;
}

/**
 * Lists plants. A plant that exists while the whole list is read is in it exactly once; the list is no snapshot. Up to
 * 1,000 plants are a page, which is read as a whole and may end early once it is large, or has taken a second; more come
 * in batches.
 *
 * @throws PlantStoreError `store_unavailable` as the port does; so may the iteration over `others`
 */
export type ListPlants = (query: ListQuery) => Promise<PlantList>;

/** Plants in a page. */
const PAGE = 1_000;

/** Characters after which a page ends. Its last batch may be as long as a batch is: some mebibytes in all. */
const PAGE_TEXT = 1024 ** 2;

/** Milliseconds after which a page ends, though it has fewer plants: a search or many deleted plants take long. */
const PAGE_TIME = 1_000;

/** Plants in one batch. */
const BATCH = 2_000;

/** @param now the time in milliseconds */
export function listPlants(plants: ReadPlants, now = () => performance.now()): ListPlants {
  return async ({ after, tag, name, order, limit = Number.POSITIVE_INFINITY, leaving }) => {
    if (after === lastId(order)) return { first: '', others: undefined, next: undefined };
    const all = { from: MIN_INT64, to: MAX_INT64, tag, name, order };
    const range = after === undefined ? all : rangeBehind(all, after);
    if (limit <= PAGE) {
      const signal = name === undefined ? undefined : leaving?.();
      const end = now() + PAGE_TIME;
      return readPage(plants, range, limit, () => now() >= end || signal?.aborted === true);
    }
    const signal = leaving?.();
    if (name !== undefined) return { first: '', others: batches(plants, range, limit, signal), next: undefined };
    const batch = await plants.readBatch(range, Math.min(limit, BATCH));
    const isOver = batch.isLast || batch.count === limit;
    const others = isOver ? undefined : batches(plants, rangeBehind(range, batch.lastId), limit - batch.count, signal);
    return { first: batch.lines, others, next: undefined };
  };
}

async function readPage(
  plants: ReadPlants,
  range: PlantRange,
  limit: number,
  isTimeUp: () => boolean,
): Promise<PlantList> {
  const parts: string[] = [];
  let length = 0;
  let count = 0;
  for (let from = range; ; ) {
    const batch = await plants.readBatch(from, limit - count);
    if (batch.count > 0) parts.push(batch.lines);
    length += batch.lines.length;
    count += batch.count;
    if (batch.isLast || count === limit || length >= PAGE_TEXT || isTimeUp()) {
      return { first: parts.join('\n'), others: undefined, next: batch.isLast ? undefined : batch.lastId };
    }
    from = rangeBehind(from, batch.lastId);
  }
}

/** The plants of a range in batches. The next one is read while the last one is being used. */
async function* batches(
  plants: ReadPlants,
  range: PlantRange,
  limit: number,
  signal?: AbortSignal,
): AsyncIterable<string> {
  let from = range;
  let left = limit;
  let reading = plants.readBatch(from, Math.min(left, BATCH));
  for (;;) {
    const batch = await reading;
    // A client that has only closed its side still gets what is found; what is sent shows whether the client is there.
    if (signal?.aborted && batch.count === 0 && !batch.isLast)
      throw new PlantStoreError('store_unavailable', 'the client has left');
    left -= batch.count;
    const isOver = batch.isLast || left === 0;
    if (!isOver) {
      from = rangeBehind(from, batch.lastId);
      reading = plants.readBatch(from, Math.min(left, BATCH));
      // The next `await reading` throws the error, unless the consumer has stopped.
      reading.catch(() => {});
    }
    if (batch.count > 0) yield batch.lines;
    if (isOver) return;
  }
}

/** Where an order ends. */
function lastId(order: Order | undefined): bigint {
  return order === 'desc' ? MIN_INT64 : MAX_INT64;
}

/** What follows an id of a range. @param id if none is given, the first one */
export function rangeBehind(range: PlantRange, id: bigint | undefined): PlantRange {
  return range.order === 'desc' ? { ...range, to: (id ?? range.to) - 1n } : { ...range, from: (id ?? range.from) + 1n };
}
