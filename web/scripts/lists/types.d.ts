/* The types of what the page does with lists. */

import type { Encoding } from '../../../src/wire/lists/encoding-finder.js';
import type { PartResult, SentPart as Sent } from '../../../src/wire/lists/parts.js';
import type { Plant } from '../types.d.ts';

/** A list that was dropped or chosen, and how it begins. */
export interface List {
  file: File;
  isCsv: boolean;
  encoding: Encoding;
  /** Whether it begins with a byte order mark. */
  hasMark: boolean;
  /** Of lines of JSON: whether a record at its beginning has an id. */
  hasIds: boolean;
  /** The first line that is not blank, nor names the separator for Excel, from 1. */
  firstLine: number;
  /** If it is a part of another list: the lines of that one. */
  lines?: number[];
}

/** What the columns of a list are. */
export interface Layout {
  columns: string[];
  /** What they are called. */
  names: string[];
  separator: string;
  /** The line that names them, from 1; undefined if none does: then `names` are the cells of the first. */
  header: number | undefined;
  guessed: { column: string; name: string }[];
}

/** How a list is to be read. */
export interface Reading {
  list: List;
  query: Record<string, string>;
  columns: string[];
  /** Between the cells of CSV. */
  separator: string;
  /** The id of the first record; undefined if the list has ids. */
  idsFrom?: bigint | undefined;
  /** What the columns are to be called so that they are read in the same way again. */
  names: string[];
}

/** A response of the import. */
export interface ImportResult extends PartResult {
  created: number;
  changed: number;
  unchanged: number;
  repeated: number;
  sameName?: number;
  compared?: boolean;
  ignored: string[];
  /** With the columns of CSV. */
  header?: number;
  guessed?: Layout['guessed'];
  /** If it is only checked: what the columns are called, and the first plants. */
  names?: string[];
  sample?: Plant[];
}

export type SentPart = Sent<ImportResult>;
