import type { Plant } from '../../domain/plant.ts';

/** A line of a list, or several lines that a quoted cell of CSV joins. */
export interface Line {
  /** Its first and its last physical line, from 1. */
  readonly number: number;
  readonly lastNumber: number;
  /** Without the end of the line. */
  readonly bytes: Buffer;
  /** Where it ends in the body, in bytes. */
  readonly end: number;
  /** False if the body ends before the line does. */
  readonly hasEnd: boolean;
  /** Whether a quote in it is still open at the end of the body. */
  readonly isOpen: boolean;
}

/** Reads the records of one format. */
export interface RecordReader {
  /** Whether a line has no record. */
  isEmpty(line: Buffer): boolean;
  /** @throws PlantStoreError `malformed_json`, `record_too_large` or `invalid_plant` */
  plantIn(record: Buffer): Plant & { readonly id?: bigint };
  /** The id of a record that may be invalid otherwise; undefined if it cannot be read. */
  idIn(record: Buffer): bigint | undefined;
  /** Whether a record has something else where others have a number as their id, or nothing: it can be given one. */
  isUnnumbered(record: Buffer): boolean;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const QUOTE = 0x22;

/**
 * Splits a list in UTF-8 into lines, in one pass over its bytes.
 *
 * @param joinsLines asked before each line: whether an open quote joins it with the lines that follow
 */
export function* linesOf(body: Buffer, joinsLines: () => boolean): Generator<Line> {
  for (let number = 1, start = 0; start < body.length; ) {
    const countsQuotes = joinsLines();
    let lastNumber = number;
    let isOpen = false;
    let at = start;
    for (; at < body.length; at++) {
      const byte = body[at];
      if (byte === QUOTE && countsQuotes) isOpen = !isOpen;
      else if (byte === LINE_FEED) {
        if (!isOpen) break;
        lastNumber++;
      }
    }
    const hasEnd = at < body.length;
    const end = hasEnd ? at + 1 : at;
    const bytes = body.subarray(start, body[at - 1] === CARRIAGE_RETURN && at > start ? at - 1 : at);
    yield { number, lastNumber, bytes, end, hasEnd, isOpen };
    number = lastNumber + 1;
    start = end;
  }
}

/** Whether there is nothing but white space. */
export function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === CARRIAGE_RETURN);
}
