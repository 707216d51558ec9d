import { PlantStoreError } from '../../domain/errors.ts';
import { fieldRules, type NewPlant } from '../../domain/plant.ts';
import { type Cell, cellsOf, csvRecords, type Separator } from './csv-records.ts';
import { type Entry, entryOf } from './entry.ts';
import type { Line } from './lines.ts';

const COLUMNS = ['id', 'name', 'tag'];

/** One of them, with the separator before or after it. */
const COLUMN = /(?:^|([,;\t]))"?(?:id|name|tag)"?(?:$|([,;\t]))/i;

/** More digits than any int64 has, so that the domain's own rule refuses values out of range. */
const INTEGER = /^-?\d{1,30}$/;

/** An id as a spreadsheet writes it that has taken it for a number, in English and in most other languages. */
const ROUNDED = /^-?\d([.,]\d+)?E\+\d+$/i;

/**
 * Reads a plant from each record after the header, which also shows the separator. As in Postgres's COPY, an empty cell
 * is no value, and "" in quotes is the empty string. Records without any value are skipped.
 *
 * @throws Error, saying what to do, if there is no header, or it cannot be read, lacks `id` or `name`, or has one of the
 * columns twice
 */
export async function* csvEntries(lines: AsyncIterable<readonly Line[]>): AsyncGenerator<readonly Entry[]> {
  let header: ReturnType<typeof readHeader> | undefined;
  for await (const records of csvRecords(lines)) {
    const entries: Entry[] = [];
    for (const record of records) {
      if (header === undefined) header = readHeader(record);
      else if (header.hasValue(record)) entries.push(entryOf(record, header.plantIn));
    }
    yield entries;
  }
  if (header === undefined) throw new Error('the list is empty');
}

function readHeader({ bytes, problem }: Line) {
  const [, before, after] = COLUMN.exec(bytes.toString('latin1')) ?? [];
  const separator = (before ?? after ?? ',') as Separator;
  const names = columnNames(bytes, separator, problem);
  const wrong = problemOf(names);
  if (wrong !== undefined) {
    throw new Error(
      `${wrong}: the first line must name the columns, as in id,name,tag; it is ${names.join(separator)}`,
    );
  }
  const [idColumn = -1, nameColumn = -1, tagColumn = -1] = COLUMNS.map((column) => names.indexOf(column));
  return {
    /** Excel writes rows that have been cleared as separators only. */
    hasValue: ({ bytes }: Line) => bytes.some((byte) => byte !== separator.charCodeAt(0)),
    /** @throws PlantStoreError `invalid_plant` */
    plantIn(record: Buffer): NewPlant {
      const cells = cellsOf(record, separator);
      // Fewer are no error: Excel sometimes leaves out empty ones at the end of a row.
      // https://www.stata.com/support/faqs/data-management/how-excel-writes-empty-cells/
      if (cells.length > names.length) {
        const counts = `there are ${cells.length} cells, but the first line names ${names.length} columns`;
        throw new PlantStoreError('invalid_plant', counts);
      }
      return plantOf(cells[idColumn], cells[nameColumn], cells[tagColumn]);
    },
  };
}

/** The names of the columns, in lower case. */
function columnNames(bytes: Buffer, separator: Separator, problem: string | undefined): string[] {
  try {
    if (problem !== undefined) throw new Error(problem);
    return cellsOf(bytes, separator).map((cell = '') => cell.toLowerCase());
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`the first line cannot be read (${message}): it must name the columns, as in id,name,tag`);
  }
}

function problemOf(names: readonly string[]): string | undefined {
  const missing = ['id', 'name'].filter((column) => !names.includes(column));
  if (missing.length > 1) return `the columns ${missing.join(' and ')} are missing`;
  if (missing.length > 0) return `the column ${missing.join()} is missing`;
  const twice = COLUMNS.find((column) => names.indexOf(column) !== names.lastIndexOf(column));
  return twice && `the column ${twice} is there twice`;
}

function plantOf(id: Cell, name: Cell, tag: Cell): NewPlant {
  if (!id) throw new PlantStoreError('invalid_plant', 'id is missing');
  if (!INTEGER.test(id)) {
    const hint = '; a spreadsheet has rounded this one: format the column as text before you enter ids';
    throw new PlantStoreError('invalid_plant', `id must be ${fieldRules.id}${ROUNDED.test(id) ? hint : ''}`);
  }
  if (name === undefined) throw new PlantStoreError('invalid_plant', 'name is missing; write "" for an empty name');
  return { id: BigInt(id), name, ...(tag !== undefined && { tag }) };
}
