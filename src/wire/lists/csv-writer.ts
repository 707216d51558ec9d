import type { NewPlant } from '../../domain/plant.ts';
import type { Separator } from './csv-cells.ts';
import { columnNames } from './csv-layout.ts';

/**
 * Creates the writer of plants as records of CSV (RFC 4180), which the import reads back as the same plants: an empty cell is
 * no tag, and `""` an empty text. Nothing is escaped against formulas of spreadsheets.
 */
export function csvWriter(separator: Separator) {
  const mustQuote = new RegExp(`^$|["\r\n${separator}]`);
  const cell = (text: string) => (mustQuote.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return {
    /** The line that names the columns. */
    header: `${columnNames.join(separator)}\r\n`,
    record: ({ id, name, tag }: NewPlant) =>
      `${id}${separator}${cell(name)}${separator}${tag === undefined ? '' : cell(tag)}\r\n`,
  };
}
