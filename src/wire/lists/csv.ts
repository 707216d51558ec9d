import { PlantStoreError } from '../../domain/errors.ts';
import { isPlantId, MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import { shown } from '../shown.ts';
import { cellsOf, type Separator } from './csv-cells.ts';
import type { Line, RecordReader } from './lines.ts';

export const columnNames = ['id', 'name', 'tag'] as const;

/** What a column of a list means; empty if nothing. */
export type Column = (typeof columnNames)[number] | '';

export interface CsvLayout {
  readonly columns: readonly Column[];
  readonly separator: Separator;
}

/** Enough for any spreadsheet, and few enough to send back. */
export const MAX_COLUMNS = 1_000;

/** One of our columns, with the separator before or after it. */
const COLUMN = /(?:^|([,;\t]))"?(?:id|name|tag)"?(?:$|([,;\t]))/i;

/** As many digits as any int64 has, or some more. */
const INTEGER = /^-?(0|[1-9]\d{0,29})$/;

/** A number with leading zeros. */
const ZEROS = /^-?0+\d{1,29}$/;

/** Characters of the longest text whose mistake is recognized. */
const MAX_RECOGNIZED = 40;

/** An id as a spreadsheet writes it that has taken it for a number, in English and in most other languages. */
const ROUNDED = /^-?\d([.,]\d+)?E\+\d+$/i;

/**
 * Reads the line that names the columns, which also shows the separator unless that is known.
 *
 * @param ignore called with the names that mean nothing
 * @throws PlantStoreError `malformed_json` or `invalid_plant`, naming the line, if it cannot be read, or as `checkColumns`
 */
export function namedLayout(
  { bytes, number, hasEnd }: Line,
  list: {
    readonly separator: Separator | undefined;
    readonly isNumbered: boolean;
    readonly replaces: boolean;
    readonly continued: boolean;
  },
  ignore: (names: string[]) => void,
): CsvLayout {
  try {
    const [, before, after] = COLUMN.exec(bytes.toString('latin1')) ?? [];
    const separator = list.separator ?? ((before ?? after ?? ',') as Separator);
    const names = cellsOf(bytes, separator, MAX_COLUMNS).map((name = '') => name);
    const columns = names.map((name) => columnNames.find((column) => column === name.toLowerCase()) ?? '');
    checkColumns(columns, list.isNumbered, list.replaces);
    if (!hasEnd && !list.continued)
      throw new PlantStoreError('invalid_plant', 'the list ends there, without a line end');
    ignore(names.filter((name, index) => name !== '' && columns[index] === ''));
    return { columns, separator };
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    const rule = `it must name the columns, as in id,name,tag, and is ${shown(bytes.toString())}`;
    const cause = hasEnd || bytes.includes('\r') ? '' : '; curl -d removes line ends: use --data-binary';
    throw new PlantStoreError(error.code, `line ${number}: ${error.message}; ${rule}${cause}`);
  }
}

/** @throws PlantStoreError `invalid_plant` if a column is missing that is needed, is there twice, or must not be there */
export function checkColumns(columns: readonly Column[], isNumbered: boolean, replaces: boolean): void {
  const missing = columnNames.slice(isNumbered ? 1 : 0, 2).filter((column) => !columns.includes(column));
  const twice = columnNames.find((column) => columns.indexOf(column) < columns.lastIndexOf(column));
  const problem =
    (missing.length > 0 && `there is no column ${missing.join(' and no column ')}`) ||
    (isNumbered && columns.includes('id') && 'there is a column id, but idsFrom is for lists without ids') ||
    (replaces && !columns.includes('tag') && 'existing=replace would delete tags, since there is no column tag') ||
    (twice !== undefined && `the column ${twice} is there twice`);
  if (problem !== false) throw new PlantStoreError('invalid_plant', problem);
}

/** Excel writes rows that have been cleared as separators only. */
export function isCleared(record: Buffer, { separator }: CsvLayout): boolean {
  return record.every((byte) => byte === separator.charCodeAt(0));
}

/** Creates the reader of records. As in Postgres's COPY, an empty cell is no value, and "" in quotes is the empty string. */
export function csvReader({ columns, separator }: CsvLayout): RecordReader {
  const idAt = columns.indexOf('id');
  const nameAt = columns.indexOf('name');
  const tagAt = columns.indexOf('tag');
  // Fewer are no error: Excel sometimes leaves out empty ones at the end of a row.
  // https://www.stata.com/support/faqs/data-management/how-excel-writes-empty-cells/
  const cellsIn = (record: Buffer) => cellsOf(record, separator, columns.length);
  return {
    plantIn(record) {
      const cells = cellsIn(record);
      const id = idAt < 0 ? undefined : idOf(cells[idAt]);
      const name = cells[nameAt];
      const tag = cells[tagAt];
      if (name === undefined) throw new PlantStoreError('invalid_plant', 'name is missing; write "" for an empty name');
      return { name, ...(id !== undefined && { id }), ...(tag !== undefined && { tag }) };
    },
    idIn(record) {
      try {
        return idOf(cellsIn(record)[idAt]);
      } catch {
        return undefined;
      }
    },
  };
}

function idOf(text = ''): bigint {
  const id = INTEGER.test(text) ? BigInt(text) : undefined;
  if (id !== undefined && isPlantId(id)) return id;
  throw new PlantStoreError('invalid_plant', text === '' ? 'id is missing' : problemOf(text));
}

/** What is wrong with an id, and what may have happened to it, for people who keep a list in a spreadsheet. */
function problemOf(text: string): string {
  const known = text.length > MAX_RECOGNIZED ? '' : text;
  if (ZEROS.test(known)) return `id must have no leading zeros: write ${BigInt(known)}, not ${shown(text)}`;
  const rule = 'id must be a whole number';
  if (INTEGER.test(text)) return `${rule} from ${MIN_INT64} to ${MAX_INT64}, not ${shown(text)}`;
  return `${rule}, not ${shown(text)}: ${remedyFor(known)}`;
}

function remedyFor(text: string): string {
  if (ROUNDED.test(text)) return 'a spreadsheet has rounded it; format the column as text before you enter ids';
  if (INTEGER.test(text.trim())) return 'remove the spaces';
  if (/^-?\d+([.,' \u00a0\u202f]\d+)+$/.test(text)) return 'write digits only, without a separator';
  return 'leave the line out if it is no plant, or leave the ids out and let the import number the list';
}
