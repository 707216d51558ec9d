import { columnNames } from './csv.ts';
import type { Separator } from './csv-cells.ts';

/** The line that names the columns. */
export function csvHeader(separator: Separator): string {
  return `${columnNames.join(separator)}\r\n`;
}

/**
 * Writes plants as records of CSV (RFC 4180), which the import reads back as the same plants: an empty cell is no tag, and
 * `""` an empty text. Nothing is escaped against formulas of spreadsheets.
 *
 * @param lines their JSON, as src/wire writes it, separated by line feeds; empty if there are none
 */
export function csvRecords(lines: string, separator: Separator): string {
  if (lines === '') return '';
  const mustQuote = new RegExp(`^$|["\r\n${separator}]`);
  const cell = (text: string) => (mustQuote.test(text) ? `"${doubled(text)}"` : text);
  const record = (line: string) => {
    // JSON.parse would round the id.
    const end = line.indexOf(',');
    const { name, tag }: { name: string; tag?: string } = JSON.parse(`{${line.slice(end + 1)}`);
    const id = line.slice('{"id":'.length, end);
    return `${[id, cell(name), tag === undefined ? '' : cell(tag)].join(separator)}\r\n`;
  };
  return lines.split('\n').map(record).join('');
}

/** Characters whose quotes are doubled at a time: for a megabyte of quotes, replaceAll takes a tenth of a second. */
const SLICE = 4_096;

function doubled(text: string): string {
  let result = '';
  for (let start = 0; start < text.length; start += SLICE) {
    result += text.slice(start, start + SLICE).replaceAll('"', '""');
  }
  return result;
}
