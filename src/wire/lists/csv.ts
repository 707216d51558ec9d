import { PlantStoreError } from '../../domain/errors.ts';
import { fieldRules, type Plant } from '../../domain/plant.ts';
import { shown } from '../shown.ts';
import { type Cell, cellsOf, type Separator } from './csv-cells.ts';
import type { Column, CsvLayout, LineReader, ReaderOptions } from './line-reader.ts';
import type { Line } from './lines.ts';

/** Enough for any spreadsheet, and few enough to send back. */
const MOST_COLUMNS = 1_000;

/** One of our columns, with the separator before or after it. */
const COLUMN = /(?:^|([,;\t]))"?(?:id|name|tag)"?(?:$|([,;\t]))/i;

/** More digits than any int64 has, so that the domain's own rule refuses values out of range. */
const INTEGER = /^-?\d{1,30}$/;

/** An id as a spreadsheet writes it that has taken it for a number, in English and in most other languages. */
const ROUNDED = /^-?\d([.,]\d+)?E\+\d+$/i;

/**
 * Reads a plant from each record of CSV. The first line names the columns, unless they are given, and shows the
 * separator. As in Postgres's COPY, an empty cell is no value, and "" in quotes is the empty string.
 */
export function csvReader(options: ReaderOptions): LineReader {
  const { columns, separator = ',' } = options;
  if (columns !== undefined) checkColumns(columns, options);
  let layout: CsvLayout | undefined = columns && { columns, separator };
  return {
    // The name that a part of a list begins with may begin with the same character.
    keepsMark: columns?.[0] === 'name' || columns?.[0] === 'tag',
    joinsLines: () => layout !== undefined,
    layout: () => layout,
    read(line, recordOf) {
      if (layout === undefined) layout = namedLayout(line, options);
      else if (hasValue(line, layout)) {
        const known = layout;
        return recordOf((noteId) => plantIn(line.bytes, known, noteId));
      }
      return undefined;
    },
  };
}

/** @throws PlantStoreError `invalid_plant`, saying what to do, if the line cannot be read, or the columns are not those needed */
function namedLayout({ bytes, number }: Line, options: ReaderOptions): CsvLayout {
  const [, before, after] = COLUMN.exec(bytes.toString('latin1')) ?? [];
  const separator = options.separator ?? ((before ?? after ?? ',') as Separator);
  function columnOf(name: Cell = ''): Column {
    const column = name.toLowerCase();
    if (column === 'id' || column === 'name' || column === 'tag') return column;
    if (name !== '') options.ignore(name);
    return '';
  }
  try {
    const columns = cellsOf(bytes, separator, MOST_COLUMNS).map(columnOf);
    checkColumns(columns, options);
    return { columns, separator };
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    const rule = `line ${number} must name the columns, as in id,name,tag`;
    throw new PlantStoreError('invalid_plant', `${rule}: ${error.message}; it is ${shown(bytes.toString())}`);
  }
}

/** @throws PlantStoreError `invalid_plant` if a column is missing that is needed, is there twice, or must not be there */
function checkColumns(columns: readonly Column[], { isNumbered, replaces }: ReaderOptions): void {
  const problem = (message: string) => new PlantStoreError('invalid_plant', message);
  const needed: readonly Column[] = isNumbered ? ['name'] : ['id', 'name'];
  const missing = needed.filter((column) => !columns.includes(column));
  if (missing.length > 1) throw problem(`the columns ${missing.join(' and ')} are missing`);
  if (missing.length > 0) throw problem(`the column ${missing.join()} is missing`);
  if (isNumbered && columns.includes('id'))
    throw problem('the column id is there, but idsFrom is for lists without ids');
  if (replaces && !columns.includes('tag'))
    throw problem('the column tag is missing: existing=replace would delete tags');
  const twice = columns.find((column, index) => column !== '' && columns.lastIndexOf(column) > index);
  if (twice !== undefined) throw problem(`the column ${twice} is there twice`);
}

/** Excel writes rows that have been cleared as separators only. */
function hasValue({ bytes }: Line, { separator }: CsvLayout): boolean {
  return bytes.some((byte) => byte !== separator.charCodeAt(0));
}

function plantIn(record: Buffer, { columns, separator }: CsvLayout, noteId: (id: bigint) => void): Plant {
  // Fewer are no error: Excel sometimes leaves out empty ones at the end of a row.
  // https://www.stata.com/support/faqs/data-management/how-excel-writes-empty-cells/
  const cells = cellsOf(record, separator, columns.length);
  const cell = (column: Column): Cell => cells[columns.indexOf(column)];
  if (columns.includes('id')) noteId(idIn(cell('id')));
  const [name, tag] = [cell('name'), cell('tag')];
  if (name === undefined) throw new PlantStoreError('invalid_plant', 'name is missing; write "" for an empty name');
  return { name, ...(tag !== undefined && { tag }) };
}

function idIn(text: Cell): bigint {
  if (!text) throw new PlantStoreError('invalid_plant', 'id is missing');
  if (INTEGER.test(text)) return BigInt(text);
  throw new PlantStoreError('invalid_plant', `id must be ${fieldRules.id}, not ${shown(text)}${hint(text)}`);
}

/** What may have happened to an id. */
function hint(text: string): string {
  if (ROUNDED.test(text)) return ': a spreadsheet has rounded it; format the column as text before you enter ids';
  if (INTEGER.test(text.trim())) return ': remove the spaces';
  return /^-?\d+([.,' \u00a0\u202f]\d+)+$/.test(text) ? ': write digits only, without a separator' : '';
}
