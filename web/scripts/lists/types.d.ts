/* The types of what the page does with lists. */

import type { findLayout } from '../../../src/lists/columns.js';
import type { batchesOf, outcomeOf } from '../../../src/lists/records.js';

/** A list that was dropped or chosen. */
export interface List {
  file: File;
  text: string;
  encoding: string;
  /** The encodings that fit it, with its first line that is not ASCII; none if there is no doubt. */
  fitting: { encoding: string; sample: string }[];
  isJson: boolean;
  /** Of lines of JSON: whether a record at its beginning has an id. */
  hasIds: boolean;
}

/** What the columns of a list are, and what is not certain of that. */
export type Layout = ReturnType<typeof findLayout> & { doubt: string };

/** How a list is to be read and stored. */
export interface Reading {
  list: List;
  /** Of CSV. */
  layout: ReturnType<typeof findLayout> | undefined;
  existing: string;
  /** The id of the first record; undefined if the list has ids. */
  idsFrom: bigint | undefined;
  /** Whose plants are left out. */
  names?: string[] | undefined;
}

export type Batch = ReturnType<typeof batchesOf> extends Generator<infer One> ? One : never;

/** What became of a batch. */
export type Outcome = ReturnType<typeof outcomeOf> & { leftOut: number };
