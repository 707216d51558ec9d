import type { Added, NewPlant, Stored, ValidPlant } from '../domain/plant.ts';
import type { Precondition } from '../domain/precondition.ts';

/*
 * What the application needs of a store. Unless it says otherwise, a method MUST reject with PlantStoreError
 * `store_unavailable` if the store cannot respond in time; any other rejection is a defect.
 */

/**
 * Plants, each under its id. What a write resolves to is durable, and every read that begins later sees it. Of concurrent
 * writes that add one id exactly one stores its plant.
 *
 * A write MUST also reject with PlantStoreError `store_unavailable` if what is stored does not show whether it was done. It
 * then takes effect at most once, at any later time, and a change only on the record that was found. So sending it again is
 * safe, whatever its outcome was.
 */
export interface PlantRepository extends ChangeFeed {
  /**
   * Stores the plant unless its id is taken. Resolves to `created`, or to what holds the id: an existing record, unchanged,
   * or `deleted` if that plant was deleted.
   */
  add(plant: ValidPlant): Promise<'created' | NewPlant | 'deleted'>;
  find(id: bigint): Promise<Stored>;
  /**
   * Replaces the plant that has the same id, unless it is the same already. Resolves to what is stored then, or to `unmet` if
   * that is a plant that does not meet the precondition, which is unchanged.
   */
  replace(plant: ValidPlant, precondition?: Precondition): Promise<Stored | 'unmet'>;
  /** Deletes the plant in the same way. Its id stays taken. */
  remove(id: bigint, precondition?: Precondition): Promise<Stored | 'unmet'>;
  /**
   * Adds plants as if one after another, and lets others go first. Resolves to what became of each. If it rejects, each has
   * been stored as a whole or not at all.
   *
   * @param replaces whether they take the places of different plants
   */
  addAll(plants: readonly ValidPlant[], replaces: boolean): Promise<readonly Added[]>;
  /**
   * Reads the first plants of the range: up to `count`, or fewer if they are many or take long; `next` says whether there are
   * more. So a search, or deleted plants, may leave none although there are.
   *
   * @param signal ends it early: nobody wants the result any more
   */
  list(range: PlantRange, count: number, signal?: AbortSignal): Promise<PlantBatch>;
  /** Counts the plants of the range, up to `most`, or fewer if they take long. */
  count(range: PlantRange, most: number, signal?: AbortSignal): Promise<PlantCount>;
  /**
   * Reads the tags after one, in the order of their UTF-8, up to `count`, or fewer if they take long; without those of earlier
   * versions that have more than 800 bytes. MUST also reject with PlantStoreError `tags_unavailable` if it has no such order.
   */
  tags(after: string | undefined, count: number, signal?: AbortSignal): Promise<Tags>;
}

/** A part of the store: the plants whose ids are from `from` to `to`, with the tag and the text, if there are any. */
export interface PlantRange {
  readonly from: bigint;
  readonly to: bigint;
  readonly tag?: string | undefined;
  /** In their names, letters in either case: a search. Not empty. */
  readonly name?: string | undefined;
  /** In which order of ids it is read; ascending if it is not given. */
  readonly order?: Order | undefined;
}

export type Order = 'asc' | 'desc';

/** What follows an id of a range, which is not the last one of the range. */
export function rangeAfter(range: PlantRange, id: bigint): PlantRange {
  return range.order === 'desc' ? { ...range, to: id - 1n } : { ...range, from: id + 1n };
}

/** The first plants of a range, in its order. */
export interface PlantBatch {
  readonly plants: readonly NewPlant[];
  /** The id after which the range goes on; undefined if it has no more plants. */
  readonly next: bigint | undefined;
}

export interface PlantCount {
  readonly count: number;
  /** Whether there are no more. */
  readonly isExact: boolean;
}

export interface Tags {
  /** Each with the number of its plants, up to 1,000. */
  readonly tags: readonly ({ readonly tag: string } & PlantCount)[];
  /** The last of them, if there may be more. */
  readonly next: string | undefined;
}

/** A place in the feed of changes: just after the row that this transaction wrote, with this id. */
export interface Position {
  readonly changed: bigint;
  readonly id: bigint;
}

/** The newest state of a plant, or that it was deleted. */
export type Change = NewPlant | { readonly id: bigint; readonly deleted: true };

/** A part of the feed of changes. */
export interface Changes {
  /** In the order of the feed. */
  readonly changes: readonly Change[];
  /** Where the feed goes on. Opaque, without characters that a URL or JSON would escape. */
  readonly next: string;
  /** Whether nothing lies beyond, except what an open transaction still holds back: a first walk is complete. */
  readonly atEnd: boolean;
  /** For how long an open transaction has held back what came after it, if that is long. */
  readonly heldBackSeconds?: number;
}

export interface ChangesQuery {
  /** Where the consumer is: the `next` of what it read last; undefined to begin, `now` to begin at the end. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Milliseconds to wait for a change if there is none. */
  readonly wait: number;
  /** Aborts when nobody wants the result any more. */
  readonly signal: AbortSignal;
}

export interface ChangeFeed {
  /**
   * Reads the newest state of each plant that was created, changed or deleted after a position, or at all, in an order
   * that never changes: at most `limit` of them. Nothing is ever left out. If nothing is
   * new, waits for a change; resolves to nothing new at the end of `wait`, at the signal, and when the service shuts
   * down.
   *
   * MUST also reject with PlantStoreError `unknown_position` if the position is not its own, `cursor_expired` if what
   * came after it is not known any more, `changes_unavailable` if this store has no such order.
   */
  readChanges(query: ChangesQuery): Promise<Changes>;
}
