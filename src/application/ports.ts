import type { NewPlant, Stored } from '../domain/plant.ts';

export interface AddPlant {
  /**
   * Stores the plant unless its id is taken. Resolves, once durable, to what holds the id: the given record, or the
   * existing one, unchanged, or `deleted` if that plant was deleted. Of concurrent calls with one id exactly one stores its plant, and all resolve to that
   * record. Calling it again with the same plant is safe, whatever the outcome of the first call.
   *
   * MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now; the plant may or may not have
   * been stored. Any other rejection is a defect.
   */
  add(plant: NewPlant): Promise<NewPlant | 'deleted'>;
}

export interface FindPlant {
  /**
   * Resolves to what is stored under the id. Every call that resolved before is seen.
   *
   * MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now.
   */
  find(id: bigint): Promise<Stored>;
}

/** Changes what is stored. Each method is safe to call again, and rejects as AddPlant does. */
export interface ChangePlant {
  /**
   * Replaces the plant that has the same id; if `expected` is given, only while it is that record. Resolves, once
   * durable, to what is stored then: the given record, or what was found instead, unchanged.
   */
  replace(plant: NewPlant, expected?: NewPlant): Promise<Stored>;
  /**
   * Deletes the plant in the same way: resolves to `deleted`, or to what was found instead. Its id stays taken. If it
   * is expected to be deleted, nothing is changed.
   */
  remove(id: bigint, expected?: NewPlant | 'deleted'): Promise<Stored>;
}

/** A part of the store: the plants whose ids are from `from` to `to`, of those only the ones with the tag, if given. */
export interface PlantRange {
  readonly from: bigint;
  readonly to: bigint;
  readonly tag?: string | undefined;
}

/** The first plants of a range, in ascending order of id. */
export interface PlantBatch {
  /**
   * Their records as JSON (src/wire), separated by line feeds. The store encodes them, since decoding and encoding each
   * one here would take longer than all else (docs/performance.md).
   */
  readonly lines: string;
  readonly count: number;
  /** The last id that was read: theirs, or that of a deleted plant; undefined if there are none. */
  readonly lastId: bigint | undefined;
  /** Whether the range has no more plants after these. */
  readonly isLast: boolean;
}

/** Reads plants in order, in batches that need little memory. Both reject as FindPlant does. */
export interface ReadPlants {
  /** Reads the first plants of the range: at most so many, of about a mebibyte of text, but one at least if there is one. */
  readBatch(range: PlantRange, count: number): Promise<PlantBatch>;
  /** Reads the first ids of the range, so many if there are, in ascending order. */
  readIds(range: PlantRange, count: number): Promise<bigint[]>;
}

/** A part of the feed of changes. */
export interface Changes {
  /** Plants as JSON, and deleted ones as `{"id":...,"deleted":true}`, separated by line feeds, in the order of the feed. */
  readonly lines: string;
  /** Where the feed goes on. Opaque, without characters that a URL or JSON would escape. */
  readonly next: string;
}

export interface ChangesQuery {
  /** Where the consumer is: the `next` of what it read last; undefined to begin. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Milliseconds to wait for a change if there is none. */
  readonly wait: number;
  /** Aborts when nobody wants the result any more. */
  readonly signal: AbortSignal;
}

export interface ReadChanges {
  /**
   * Reads the newest state of each plant that was created, changed or deleted after a position, or at all, in an order
   * that never changes: at most `limit` of them, of about a mebibyte of text. Nothing is ever left out. If nothing is
   * new, waits for a change; resolves to nothing new at the end of `wait`, at the signal, and when the service shuts
   * down.
   *
   * MUST reject with PlantStoreError `invalid_plant` if the position is not one of its own, `cursor_expired` if what
   * came after it cannot be told any more, `changes_unavailable` if this store has no such order, `store_unavailable`.
   */
  readChanges(query: ChangesQuery): Promise<Changes>;
}
