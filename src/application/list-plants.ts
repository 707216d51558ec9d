import { MAX_INT64, MIN_INT64, type NewPlant } from '../domain/plant.ts';
import type { PlantRange, ReadPlants } from './ports.ts';

/** Which plants are wanted: those with ids above `after`, with the tag, if given, and at most `limit` of them. */
export interface ListQuery {
  readonly after?: bigint | undefined;
  readonly tag?: string | undefined;
  readonly limit?: number | undefined;
}

/** Plants in ascending order of id. */
export interface PlantList {
  readonly first: readonly NewPlant[];
  /** Those after the first, in batches; undefined if there are none. */
  readonly others: AsyncIterable<readonly NewPlant[]> | undefined;
  /** The id after which the next page begins; undefined if this one is the last. */
  readonly next: bigint | undefined;
}

/**
 * Lists plants. A plant that exists while the whole list is read is in it exactly once; the list is no snapshot.
 *
 * @throws PlantStoreError `store_unavailable` as the port does; so may the iteration over `others`
 */
export type ListPlants = (query: ListQuery) => Promise<PlantList>;

/** Plants in one batch. */
const BATCH = 1_000;

/** Ids in one statement. */
const IDS = 10_000;

export function listPlants(plants: ReadPlants): ListPlants {
  return async ({ after, tag, limit }) => {
    if (after === MAX_INT64) return { first: [], others: undefined, next: undefined };
    const range = { from: after === undefined ? MIN_INT64 : after + 1n, to: MAX_INT64, tag };
    // One more than wanted shows whether there is another page.
    const { plants: first, isLast } = await plants.readBatch(range, Math.min(limit ?? BATCH, BATCH) + 1);
    if (limit !== undefined && first.length > limit) {
      const page = first.slice(0, limit);
      return { first: page, others: undefined, next: page.at(-1)?.id };
    }
    const behind = isLast ? undefined : rangeBehind(range, first);
    if (behind === undefined) return { first, others: undefined, next: undefined };
    if (limit === undefined) return { first, others: batches(plants, behind), next: undefined };
    // The ids of the page come first: `next` has to be known before the plants are read, and stay right meanwhile.
    const ids = await firstIds(plants, behind, limit - first.length + 1);
    const hasNext = ids.length > limit - first.length;
    if (hasNext) ids.pop();
    const last = ids.at(-1);
    if (last === undefined) return { first, others: undefined, next: hasNext ? first.at(-1)?.id : undefined };
    const others = only(new Set(ids), batches(plants, { ...behind, to: last }));
    return { first, others, next: hasNext ? last : undefined };
  };
}

/** The range after these plants, which are not all of it; undefined if no id is left. */
function rangeBehind(range: PlantRange, plants: readonly NewPlant[]): PlantRange | undefined {
  const last = plants.at(-1)?.id ?? range.from - 1n;
  return last < range.to ? { ...range, from: last + 1n } : undefined;
}

/** Every plant of the range. The next batch is read while the last one is being used. */
async function* batches(plants: ReadPlants, range: PlantRange): AsyncIterable<readonly NewPlant[]> {
  let reading = plants.readBatch(range, BATCH);
  for (;;) {
    const batch = await reading;
    const behind = batch.isLast ? undefined : rangeBehind(range, batch.plants);
    if (behind !== undefined) {
      reading = plants.readBatch(behind, BATCH);
      // It throws when its turn comes, unless nobody wants it any more.
      reading.catch(() => {});
    }
    yield batch.plants;
    if (behind === undefined) return;
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

async function* only(
  ids: ReadonlySet<bigint>,
  batches: AsyncIterable<readonly NewPlant[]>,
): AsyncIterable<readonly NewPlant[]> {
  for await (const batch of batches) yield batch.filter(({ id }) => ids.has(id));
}
