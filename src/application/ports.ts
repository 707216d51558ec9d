import type { NewPlant } from '../domain/plant.ts';

export interface AddPlant {
  /**
   * Stores the plant unless its id is taken. Resolves, once durable, to the record that holds the id: the given one, or
   * the existing one, unchanged. Of concurrent calls with one id exactly one stores its plant, and all resolve to that
   * record. Calling it again with the same plant is safe, whatever the outcome of the first call.
   *
   * MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now; the plant may or may not have
   * been stored. Any other rejection is a defect.
   */
  add(plant: NewPlant): Promise<NewPlant>;
}

export interface FindPlant {
  /**
   * Resolves to the record that has the id, undefined if there is none. Every call that resolved before is seen.
   *
   * MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now.
   */
  find(id: bigint): Promise<NewPlant | undefined>;
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
  /** The id of the last one; undefined if there are none. */
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
