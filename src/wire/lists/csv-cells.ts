import { isUtf8 } from 'node:buffer';
import { PlantStoreError } from '../../domain/errors.ts';

/** A cell of a record; undefined if it is empty without quotes. */
type Cell = string | undefined;

/** What separates the cells: spreadsheets write semicolons where a comma is the decimal sign, and tabs in "text". */
export const separators = [',', ';', '\t', '|'] as const;

export type Separator = (typeof separators)[number];

/** What to do about a list that another format of Excel has spoiled. */
const IN_EXCEL = 'in Excel, save the list as "CSV UTF-8"';

const QUOTE = 0x22;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;

/**
 * Reads the cells of a record of RFC 4180, byte by byte: regular expressions run out of memory at some megabytes of
 * quotes, and replaceAll takes a tenth of a second for one megabyte.
 *
 * @param most how many cells there may be
 * @throws PlantStoreError `malformed_json` if the record is not UTF-8, `invalid_plant` if there are more or it breaks
 * RFC 4180
 */
export function cellsOf(record: Buffer, separator: Separator, most: number): Cell[] {
  if (!isUtf8(record)) throw new PlantStoreError('malformed_json', `the line must be valid UTF-8; ${IN_EXCEL}`);
  const separating = separator.charCodeAt(0);
  const cells: Cell[] = [];
  for (let start = 0; cells.length < most; ) {
    const isQuoted = record[start] === QUOTE;
    const end = isQuoted ? quotedEnd(record, start, separator) : plainEnd(record, start, separating);
    if (end < record.length && record[end] !== separating) throw notCell(record[end], separator);
    if (isQuoted) cells.push(unquoted(record.subarray(start + 1, end - 1)));
    else cells.push(end > start ? record.toString('utf8', start, end) : undefined);
    if (end === record.length) return cells;
    start = end + 1;
  }
  throw new PlantStoreError('invalid_plant', `there are more cells than columns, of which there are ${most}`);
}

/** Where a cell without quotes ends: before a separator, or an byte that it must not have. */
function plainEnd(record: Buffer, start: number, separating: number): number {
  for (let at = start; at < record.length; at++) {
    const byte = record[at];
    if (byte === separating || byte === QUOTE || byte === CARRIAGE_RETURN || byte === LINE_FEED) return at;
  }
  return record.length;
}

/** The position behind the closing quote; quotes within the cell are doubled. */
function quotedEnd(record: Buffer, start: number, separator: Separator): number {
  for (let at = start + 1; at < record.length; at++) {
    if (record[at] !== QUOTE) continue;
    if (record[at + 1] !== QUOTE) return at + 1;
    at++;
  }
  throw notCell(QUOTE, separator);
}

function unquoted(cell: Buffer): string {
  if (!cell.includes(QUOTE)) return cell.toString();
  const bytes = Buffer.alloc(cell.length);
  let length = 0;
  for (let at = 0; at < cell.length; at++) {
    const byte = cell[at] ?? 0;
    bytes[length++] = byte;
    if (byte === QUOTE) at++;
  }
  return bytes.toString('utf8', 0, length);
}

/** What to do about quotes of programs that do not write tab-separated files as RFC 4180 would. */
export const quotesMeanThemselves = (separator: Separator | undefined) =>
  separator === '\t' ? '; if quotes mean themselves in this list, double them and put quotes around their cells' : '';

function notCell(found: number | undefined, separator: Separator): PlantStoreError {
  const message =
    found === CARRIAGE_RETURN
      ? `lines must end with LF or CR LF, not with CR alone; ${IN_EXCEL}`
      : `quotes must enclose a whole cell, and be doubled within it${quotesMeanThemselves(separator)}`;
  return new PlantStoreError('invalid_plant', message);
}
