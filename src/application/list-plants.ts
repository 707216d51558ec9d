import { MAX_INT64, MIN_INT64 } from '../domain/plant.ts';
import type { PlantBatch, PlantRange, ReadPlants } from './ports.ts';

/** Which plants are wanted: those with ids above `after`, with the tag, if given, and at most `limit` of them. */
export interface ListQuery {
  readonly after?: bigint | undefined;
  readonly tag?: string | undefined;
  readonly limit?: number | undefined;
}

/** Plants in ascending order of id, as JSON records separated by line feeds. */
export interface PlantList {
  readonly first: string;
  /** Those after the first, in batches; undefined if there are none. */
  readonly others: AsyncIterable<string> | undefined;
  /** The id after which the next page begins; undefined if this one is the last. */
  readonly next: bigint | undefined;
}

/**
 * Lists plants. A plant that exists while the whole list is read is in it exactly once; the list is no snapshot.
 *
 * @throws PlantStoreError `store_unavailable` as the port does; so may the iteration over `others`
 */
export type ListPlants = (query: ListQuery) => Promise<PlantList>;

/** Characters after which a page is streamed. Up to these it is read as a whole, and the last batch may be as long. */
const WHOLE_PAGE = 1024 ** 2;

/** Plants in one batch. */
const BATCH = 2_000;

/** Ids in one statement. */
const IDS = 10_000;

export function listPlants(plants: ReadPlants): ListPlants {
  return async ({ after, tag, limit }) => {
    if (after === MAX_INT64) return { first: '', others: undefined, next: undefined };
    const range = { from: after === undefined ? MIN_INT64 : after + 1n, to: MAX_INT64, tag };
    let batch = await plants.readBatch(range, Math.min(limit ?? BATCH, BATCH));
    let { lines: first, count } = batch;
    let behind = rangeBehind(range, batch);
    // A batch may be short though its text is, and few lists may be streamed at once.
    while (limit !== undefined && count < limit && !batch.isLast && first.length < WHOLE_PAGE) {
      batch = await plants.readBatch(behind, Math.min(limit - count, BATCH));
      if (batch.count > 0) first += `\n${batch.lines}`;
      count += batch.count;
      behind = rangeBehind(behind, batch);
    }
    if (batch.isLast) return { first, others: undefined, next: undefined };
    if (count === limit) return { first, others: undefined, next: batch.lastId };
    if (limit === undefined) return { first, others: batches(plants, behind), next: undefined };
    // The ids of the page come first: `next` has to be known before the plants are read, and stay right meanwhile.
    const remaining = limit - count;
    const ids = await firstIds(plants, behind, remaining + 1);
    const page = ids.slice(0, remaining);
    const last = page.at(-1);
    if (last === undefined) return { first, others: undefined, next: undefined };
    const others = only(new Set(page.map(String)), batches(plants, { ...behind, to: last }));
    return { first, others, next: ids.length > remaining ? last : undefined };
  };
}

/** The range after a batch of it. */
function rangeBehind(range: PlantRange, { lastId = range.from }: PlantBatch): PlantRange {
  return { ...range, from: lastId + 1n };
}

/** Every plant of the range. The next batch is read while the last one is being used. */
async function* batches(plants: ReadPlants, range: PlantRange): AsyncIterable<string> {
  let from = range;
  let reading = plants.readBatch(from, BATCH);
  for (;;) {
    const batch = await reading;
    if (!batch.isLast) {
      from = rangeBehind(from, batch);
      reading = plants.readBatch(from, BATCH);
      // It throws when its turn comes, unless nobody wants it any more.
      reading.catch(() => {});
    }
    if (batch.count > 0) yield batch.lines;
    if (batch.isLast) return;
  }
}

async function firstIds(plants: ReadPlants, range: PlantRange, count: number): Promise<bigint[]> {
  const ids: bigint[] = [];
  let from = range.from;
  for (;;) {
    const wanted = Math.min(count - ids.length, IDS);
    const more = await plants.readIds({ ...range, from }, wanted);
    ids.push(...more);
    const last = more.at(-1);
    if (ids.length === count || more.length < wanted || last === undefined || last === range.to) return ids;
    from = last + 1n;
  }
}

const ID = /^\{"id":(-?\d+)/;

/** Without the plants that came between those with these ids meanwhile. */
async function* only(ids: ReadonlySet<string>, batches: AsyncIterable<string>): AsyncIterable<string> {
  for await (const batch of batches) {
    const lines = batch.split('\n').filter((line) => ids.has(ID.exec(line)?.[1] ?? ''));
    if (lines.length > 0) yield lines.join('\n');
  }
}
