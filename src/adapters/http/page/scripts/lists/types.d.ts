/* The types of what the page does with lists. */

import type { Plant, PlantList, Request, View } from '../types.d.ts';

/** A list that was dropped or chosen, and what its first line says. */
export interface List {
  file: File;
  /** Whether it begins with a byte order mark. */
  hasMark: boolean;
  isCsv: boolean;
  /** Between the cells of CSV. */
  separator: string;
  /** The cells of the first line of CSV, as they are; of lines of JSON, `id` if a record at its beginning has one. */
  names: string[];
  /** Where the first line and the second one begin. */
  firstLine: Place;
  secondLine: Place;
}

/** What is before a line. */
export interface Place {
  octets: number;
  lines: number;
}

/** How a list is to be read. */
export interface Reading {
  list: List;
  query: Record<string, string>;
  /** The id of the first record; undefined if the list has ids. */
  idsFrom: bigint | undefined;
  begin: Place;
  /** What the columns are to be called so that they are read in the same way again. */
  names: string[];
}

/** A response of the import. */
export interface ImportResult {
  created: number;
  changed: number;
  unchanged: number;
  refused: { line: number; lastLine: number; id?: bigint; message: string }[];
  ignored: string[];
  records: number;
  consumed: number;
  /** The first plants, if they are only looked at. */
  sample?: Plant[];
}

export interface SentPart extends ImportResult {
  /** Lines of the list before it, to which those of its refusals are to be added. */
  linesBefore: number;
  /** These lines of it, from 1 on. */
  bytesOf(line: number, lastLine: number): Uint8Array<ArrayBuffer>;
}

export interface ListSender {
  /**
   * Sends the next part; after a failure, the same one again, which is safe. Undefined at the end.
   *
   * @throws Error as `send` does, with the line in the list; if the list cannot be read; at a record of CSV that is too large
   */
  next(request: Request): Promise<SentPart | undefined>;
  /** What is done, from 0 to 1. */
  progress(): number;
}

export interface ImportEvents {
  /** The plants of the table: shown again after an import. */
  plants: PlantList;
  failed(error: unknown, where: string): void;
}

export interface DownloadEvents {
  view(): View;
  failed(error: unknown, where: string): void;
}
