import type { NewPlant, Stored, ValidPlant } from '../domain/plant.ts';
import type { Precondition } from '../domain/precondition.ts';

/*
 * What the application needs of a store. Unless it says otherwise, a method MUST reject with PlantStoreError
 * `store_unavailable` if the store cannot respond in time; any other rejection is a defect.
 */

/**
 * Plants, each under its id. What a write resolves to is durable, and every read that begins later sees it. Of concurrent
 * writes that add the same id, exactly one stores its plant.
 *
 * A write MUST also reject with PlantStoreError `store_unavailable` if what is stored does not show its outcome. It may then
 * take effect later, but at most once, and a change only on the record that it found. So it is always safe to repeat a write.
 */
export interface PlantRepository {
  /**
   * Stores the plant unless its id is taken. Resolves to `created`, or to what holds the id: an existing record, unchanged,
   * or `deleted` if that plant was deleted.
   */
  add(plant: ValidPlant): Promise<'created' | NewPlant | 'deleted'>;
  find(id: bigint): Promise<Stored>;
  /**
   * Replaces the plant with the same id, unless both are equal. Resolves to what is stored then, or to `unmet` if the stored
   * plant does not meet the precondition, and so is unchanged.
   */
  replace(plant: ValidPlant, precondition?: Precondition): Promise<Stored | 'unmet'>;
  /** Deletes the plant in the same way. Its id stays taken. */
  remove(id: bigint, precondition?: Precondition): Promise<Stored | 'unmet'>;
  /**
   * Adds plants of different ids, with a lower priority than other writes. Resolves to what was stored under each id before. If
   * it rejects, each has been stored as a whole or not at all.
   *
   * @param replaces whether they replace different plants
   */
  addAll(plants: readonly ValidPlant[], replaces: boolean): Promise<readonly Stored[]>;
  /**
   * Reads the first plants of the range: up to `count`, or fewer if they are many or take long. `next` says whether there are
   * more: a search, or a row of deleted plants, may find none though more follow.
   *
   * @param signal aborts the read, whose result is no longer needed
   */
  list(range: PlantRange, count: number, signal?: AbortSignal): Promise<PlantBatch>;
  /** Counts the plants of the range, up to `most`, or fewer if they take long. */
  count(range: PlantRange, most: number, signal?: AbortSignal): Promise<PlantCount>;
  /**
   * Reads up to `count` tags after a given one, in the order of their UTF-8, or fewer if they take long; not those of earlier
   * versions that exceed 800 bytes. MUST also reject with PlantStoreError `tags_unavailable` if it has no such order.
   */
  tags(after: string | undefined, count: number, signal?: AbortSignal): Promise<Tags>;
}

/** The plants whose ids are from `from` to `to`, with the tag and the text, where these are given. */
export interface PlantRange {
  readonly from: bigint;
  readonly to: bigint;
  readonly tag?: string | undefined;
  /** A text that the name contains, in either case. Not empty. */
  readonly name?: string | undefined;
  /** The order of ids; ascending by default. */
  readonly order?: 'asc' | 'desc' | undefined;
}

/** The plants of a range that come after one of its ids. The id is not the last one of the range. */
export function rangeAfter(range: PlantRange, id: bigint): PlantRange {
  return range.order === 'desc' ? { ...range, to: id - 1n } : { ...range, from: id + 1n };
}

/** The first plants of a range, in its order. */
export interface PlantBatch {
  readonly plants: readonly NewPlant[];
  /** The id after which the range continues; undefined if it has no more plants. */
  readonly next: bigint | undefined;
}

export interface PlantCount {
  readonly count: number;
  /** Whether there are no more. */
  readonly isExact: boolean;
}

export interface Tags {
  /** Each tag with the number of its plants, up to 1,000. */
  readonly tags: readonly ({ readonly tag: string } & PlantCount)[];
  /** The last tag, if there may be more. */
  readonly next: string | undefined;
}
