import type { NewPlant, Stored } from '../domain/plant.ts';

export interface AddPlant {
  /**
   * Stores the plant unless its id is taken. Resolves, once durable, to `created`, or to what holds the id: an existing
   * record, unchanged, or `deleted` if that plant was deleted. Of concurrent calls with one id exactly one stores its
   * plant, and the others resolve to that record. Calling it again with the same plant is safe, whatever the outcome of
   * the first call.
   *
   * MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now, or if this call may have
   * stored the plant and something else holds the id since; the plant may or may not have been stored. Any other
   * rejection is a defect.
   */
  add(plant: NewPlant): Promise<'created' | NewPlant | 'deleted'>;
}

export interface LoadPlant {
  /**
   * Resolves to what is stored under the id. Every call that resolved before is seen.
   *
   * MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now.
   */
  find(id: bigint): Promise<Stored>;
}

/**
 * Whether the stored plant may be changed. It is asked of every plant that is found, of one with equal content, too, and
 * again if that plant changes meanwhile: the last answer is about the plant that the outcome is about.
 */
export type Condition = (stored: NewPlant) => boolean;

export interface UpdatePlant {
  /**
   * Replaces the plant that has the same id, unless it is the same already or the condition is not met. Resolves, once
   * durable, to what is stored then: the given record, or what was found instead, unchanged. It takes effect at most
   * once.
   *
   * MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now, or if it cannot be known
   * whether the plant was replaced: that may take effect at any later time, but only on the record that was found. Any
   * other rejection is a defect.
   */
  replace(plant: NewPlant, condition?: Condition): Promise<Stored>;
  /**
   * Deletes the plant in the same way: resolves to `deleted`, or to what was found instead. Its id stays taken. Without a
   * condition, a deletion of unknown outcome may also take effect on another plant that gets the id after a purge.
   */
  remove(id: bigint, condition?: Condition): Promise<Stored>;
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

/** The first plants of a range, in its order. */
export interface PlantBatch {
  /**
   * Their records as JSON (src/wire), separated by line feeds. The store encodes them, since decoding and encoding each
   * plant here would take longer than all else (docs/performance.md).
   */
  readonly lines: string;
  readonly count: number;
  /** The last id that was looked at, also of what is not among them; undefined if there was none. */
  readonly lastId: bigint | undefined;
  /** Whether the range has no more plants after these. */
  readonly isLast: boolean;
}

/** Reads plants in order, in batches that need little memory. It rejects as LoadPlant does. */
export interface ReadPlants {
  /**
   * Reads the first plants of the range: up to `count`, of about a mebibyte of text together. It looks at some thousand
   * rows only, so that a search, or deleted plants, may leave none although there are more.
   */
  readBatch(range: PlantRange, count: number): Promise<PlantBatch>;
}

/** A place in the feed of changes: just after the row that this transaction wrote, with this id. */
export interface Position {
  readonly changed: bigint;
  readonly id: bigint;
}

/** A part of the feed of changes. */
export interface Changes {
  /** Plants as JSON, and deleted ones as `{"id":...,"deleted":true}`, separated by commas, in the order of the feed. */
  readonly changes: string;
  /** Where the feed goes on. Opaque, without characters that a URL or JSON would escape. */
  readonly next: string;
  /** Whether nothing lies beyond, except what an open transaction still holds back: a first walk is complete. */
  readonly atEnd: boolean;
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
   * that never changes: at most `limit` of them, of about a mebibyte of text. Nothing is ever left out. If nothing is
   * new, waits for a change; resolves to nothing new at the end of `wait`, at the signal, and when the service shuts
   * down.
   *
   * MUST reject with PlantStoreError `invalid_plant` if the position is not its own, `cursor_expired` if what
   * came after it is not known any more, `changes_unavailable` if this store has no such order, `store_unavailable`.
   */
  readChanges(query: ChangesQuery): Promise<Changes>;
}
