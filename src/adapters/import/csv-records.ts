import { isUtf8 } from 'node:buffer';
import { PlantStoreError } from '../../domain/errors.ts';
import { type Line, MAX_LINE } from './lines.ts';

/** The bytes of one record: a line, or several if a quoted cell contains line breaks. */
export interface CsvRecord extends Line {
  /** The number of its last line; `number` is that of its first. */
  readonly lastNumber: number;
  /** A quote was not closed before the record exceeded MAX_LINE or the list ended. */
  readonly isOpen: boolean;
}

/** A cell of a record; undefined if it is empty without quotes. */
export type Cell = string | undefined;

/** A quoted cell, in which quotes are doubled, or a plain one, and its delimiter. */
const CELL = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|$)/y;

const QUOTE = 0x22;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = Buffer.from('\n');

/** Joins lines into records, which continue while a quote is open. Blank lines between records are skipped. */
export async function* csvRecords(lines: AsyncIterable<readonly Line[]>): AsyncGenerator<readonly CsvRecord[]> {
  /** The lines of the current record. */
  let parts: Line[] = [];
  let length = 0;
  let isOpen = false;

  function endRecord(): CsvRecord {
    const [first, last] = [parts[0], parts.at(-1)] as [Line, Line];
    const joined = () => Buffer.concat(parts.flatMap(({ bytes }) => [LINE_FEED, bytes]).slice(1));
    const whole = parts.length > 1 ? joined() : first.bytes;
    const bytes = whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole;
    const isTruncated = parts.some((part) => part.isTruncated);
    const record = { number: first.number, lastNumber: last.number, bytes, isTruncated, isOpen };
    parts = [];
    length = 0;
    isOpen = false;
    return record;
  }

  for await (const batch of lines) {
    const records: CsvRecord[] = [];
    for (const line of batch) {
      if (parts.length === 0 && isBlank(line.bytes)) continue;
      parts.push(line);
      length += line.bytes.length;
      if (hasOddQuotes(line.bytes)) isOpen = !isOpen;
      if (!isOpen || length >= MAX_LINE) records.push(endRecord());
    }
    yield records;
  }
  if (parts.length > 0) yield [endRecord()];
}

/** @throws PlantStoreError `invalid_plant` if the record breaks RFC 4180, or is not UTF-8 */
export function cellsOf({ bytes, isTruncated, isOpen }: CsvRecord): Cell[] {
  if (isTruncated) throw new PlantStoreError('invalid_plant', `the line is larger than ${MAX_LINE} bytes`);
  if (isOpen) {
    const when = bytes.length < MAX_LINE ? 'never closed' : `not closed within ${MAX_LINE} bytes`;
    throw new PlantStoreError('invalid_plant', `a quote is ${when}`);
  }
  if (!isUtf8(bytes)) throw new PlantStoreError('invalid_plant', 'the line must be valid UTF-8');
  const text = bytes.toString();
  const cells: Cell[] = [];
  CELL.lastIndex = 0;
  for (;;) {
    const match = CELL.exec(text);
    if (match === null)
      throw new PlantStoreError('invalid_plant', 'quotes must enclose a whole cell, and be doubled within it');
    const [, quoted, plain, end] = match;
    cells.push(quoted === undefined ? plain || undefined : quoted.replaceAll('""', '"'));
    if (end === '') return cells;
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length === 0 || (bytes.length === 1 && bytes[0] === CARRIAGE_RETURN);
}

function hasOddQuotes(bytes: Buffer): boolean {
  let odd = false;
  for (let at = bytes.indexOf(QUOTE); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) odd = !odd;
  return odd;
}
