import { isUtf8 } from 'node:buffer';
import { PlantStoreError } from '../../domain/errors.ts';
import { IN_EXCEL, isBlank, type Line, MAX_LINE } from './lines.ts';

/** A cell of a record; undefined if it is empty without quotes. */
export type Cell = string | undefined;

/** What separates the cells: spreadsheets write semicolons where a comma is the decimal sign, and tabs in "text". */
export type Separator = ',' | ';' | '\t';

/** A quoted cell, in which quotes are doubled, or a plain one, and the separator or the end after it. */
const CELLS: Readonly<Record<Separator, RegExp>> = {
  ',': /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|$)/y,
  ';': /(?:"([^"]*(?:""[^"]*)*)"|([^";\r\n]*))(;|$)/y,
  '\t': /(?:"([^"]*(?:""[^"]*)*)"|([^"\t\r\n]*))(\t|$)/y,
};

const QUOTE = 0x22;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = Buffer.from('\n');

/**
 * Joins lines into records, which continue while a quote is open. Blank lines between records are skipped. A quote that
 * is not closed within MAX_LINE ends its record there.
 */
export async function* csvRecords(lines: AsyncIterable<readonly Line[]>): AsyncGenerator<readonly Line[]> {
  /** The lines of the current record. */
  let parts: Line[] = [];
  let length = 0;
  let isOpen = false;

  function endRecord(openQuote?: string): Line {
    const [first, last] = [parts[0], parts.at(-1)] as [Line, Line];
    const joined = () => Buffer.concat(parts.flatMap(({ bytes }) => [LINE_FEED, bytes]).slice(1));
    const whole = parts.length > 1 ? joined() : first.bytes;
    const bytes = whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole;
    const problem = parts.find((line) => line.problem)?.problem ?? openQuote;
    parts = [];
    length = 0;
    isOpen = false;
    return { number: first.number, lastNumber: last.lastNumber, bytes, problem };
  }

  for await (const batch of lines) {
    const records: Line[] = [];
    for (const line of batch) {
      if (parts.length === 0 && isBlank(line)) continue;
      parts.push(line);
      length += line.bytes.length;
      if (hasOddQuotes(line.bytes)) isOpen = !isOpen;
      if (!isOpen) records.push(endRecord());
      else if (length >= MAX_LINE) records.push(endRecord(`a quote is not closed within ${MAX_LINE} bytes`));
    }
    yield records;
  }
  if (parts.length > 0) yield [endRecord('a quote is never closed')];
}

/** @throws PlantStoreError `invalid_plant` if the record breaks RFC 4180, or is not UTF-8 */
export function cellsOf(record: Buffer, separator: Separator): Cell[] {
  if (!isUtf8(record)) throw new PlantStoreError('invalid_plant', `the line must be valid UTF-8; ${IN_EXCEL}`);
  const text = record.toString();
  const cells: Cell[] = [];
  const pattern = CELLS[separator];
  pattern.lastIndex = 0;
  for (;;) {
    const { lastIndex } = pattern;
    const match = pattern.exec(text);
    if (match === null) throw new PlantStoreError('invalid_plant', whyNoCell(text.slice(lastIndex)));
    const [, quoted, plain, end] = match;
    cells.push(quoted === undefined ? plain || undefined : quoted.replaceAll('""', '"'));
    if (end === '') return cells;
  }
}

function whyNoCell(text: string): string {
  return /^[^"\n]*\r/.test(text)
    ? `lines must end with LF or CR LF, not with CR alone; ${IN_EXCEL}`
    : 'quotes must enclose a whole cell, and be doubled within it';
}

function hasOddQuotes(bytes: Buffer): boolean {
  let isOdd = false;
  for (let at = bytes.indexOf(QUOTE); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) isOdd = !isOdd;
  return isOdd;
}
