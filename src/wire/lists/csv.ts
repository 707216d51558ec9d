import { PlantStoreError } from '../../domain/errors.ts';
import { fieldRules, type Plant } from '../../domain/plant.ts';
import { shown } from '../shown.ts';
import { cellsOf, type Separator } from './csv-cells.ts';
import type { Line } from './lines.ts';

/** What a column of a list means; empty if nothing. */
export type Column = 'id' | 'name' | 'tag' | '';

export interface CsvLayout {
  readonly columns: readonly Column[];
  readonly separator: Separator;
}

/** Enough for any spreadsheet, and few enough to send back. */
const MOST_COLUMNS = 1_000;

/** One of our columns, with the separator before or after it. */
const COLUMN = /(?:^|([,;\t]))"?(?:id|name|tag)"?(?:$|([,;\t]))/i;

/** More digits than any int64 has, so that the domain's own rule refuses values out of range. */
const INTEGER = /^-?\d{1,30}$/;

/** An id as a spreadsheet writes it that has taken it for a number, in English and in most other languages. */
const ROUNDED = /^-?\d([.,]\d+)?E\+\d+$/i;

/**
 * Reads the line that names the columns, which also shows the separator unless one is given.
 *
 * @param ignore called with the names that mean nothing
 * @throws PlantStoreError `invalid_plant` if it cannot be read
 */
export function namedLayout(bytes: Buffer, given: Separator | undefined, ignore: (names: string[]) => void): CsvLayout {
  const [, before, after] = COLUMN.exec(bytes.toString('latin1')) ?? [];
  const separator = given ?? ((before ?? after ?? ',') as Separator);
  const names = cellsOf(bytes, separator, MOST_COLUMNS).map((name = '') => name);
  const columns = names.map((name) => (['id', 'name', 'tag'] as const).find((one) => one === name.toLowerCase()) ?? '');
  ignore(names.filter((name, index) => name !== '' && columns[index] === ''));
  return { columns, separator };
}

/** @throws PlantStoreError `invalid_plant` if a column is missing that is needed, is there twice, or must not be there */
export function checkColumns(columns: readonly Column[], isNumbered: boolean, replaces: boolean): void {
  const missing = (isNumbered ? ['name' as const] : ['id' as const, 'name' as const]).filter(
    (one) => !columns.includes(one),
  );
  const twice = columns.find((column, index) => column !== '' && columns.lastIndexOf(column) > index);
  const [plural, verb] = missing.length > 1 ? ['s', 'are'] : ['', 'is'];
  const problem =
    (missing.length > 0 && `the column${plural} ${missing.join(' and ')} ${verb} missing`) ||
    (isNumbered && columns.includes('id') && 'the column id is there, but idsFrom is for lists without ids') ||
    (replaces && !columns.includes('tag') && 'the column tag is missing: existing=replace would delete tags') ||
    (twice !== undefined && `the column ${twice} is there twice`);
  if (problem !== false) throw new PlantStoreError('invalid_plant', problem);
}

/** Excel writes rows that have been cleared as separators only. */
export function hasValue({ bytes }: Line, { separator }: CsvLayout): boolean {
  return bytes.some((byte) => byte !== separator.charCodeAt(0));
}

/**
 * Reads a record. As in Postgres's COPY, an empty cell is no value, and "" in quotes is the empty string.
 *
 * @param noteId called with the id, also if the record is refused for something else
 * @throws PlantStoreError `invalid_plant`
 */
export function csvPlant(record: Buffer, { columns, separator }: CsvLayout, noteId: (id: bigint) => void): Plant {
  // Fewer are no error: Excel sometimes leaves out empty ones at the end of a row.
  // https://www.stata.com/support/faqs/data-management/how-excel-writes-empty-cells/
  const cells = cellsOf(record, separator, columns.length);
  const [id, name, tag] = (['id', 'name', 'tag'] as const).map((column) => cells[columns.indexOf(column)]);
  if (columns.includes('id')) noteId(idIn(id));
  if (name === undefined) throw new PlantStoreError('invalid_plant', 'name is missing; write "" for an empty name');
  return { name, ...(tag !== undefined && { tag }) };
}

function idIn(text = ''): bigint {
  if (INTEGER.test(text)) return BigInt(text);
  throw new PlantStoreError(
    'invalid_plant',
    text === '' ? 'id is missing' : `id must be ${fieldRules.id}, not ${shown(text)}${hint(text)}`,
  );
}

/** What may have happened to an id. */
function hint(text: string): string {
  if (ROUNDED.test(text)) return ': a spreadsheet has rounded it; format the column as text before you enter ids';
  if (INTEGER.test(text.trim())) return ': remove the spaces';
  return /^-?\d+([.,' \u00a0\u202f]\d+)+$/.test(text) ? ': write digits only, without a separator' : '';
}
