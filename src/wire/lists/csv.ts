import { PlantStoreError } from '../../domain/errors.ts';
import { isPlantId, MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import { shown } from '../shown.ts';
import { cellsOf } from './csv-cells.ts';
import type { CsvLayout } from './csv-layout.ts';
import { isBlank, type RecordReader } from './lines.ts';

/** Up to 30 digits, more than any int64 has: an integer that is too large gets a message of its own. */
const INTEGER = /^-?(0|[1-9]\d{0,29})$/;

/** A number with leading zeros. */
const ZEROS = /^-?0+\d{1,29}$/;

/** Characters of the longest text whose mistake is recognized, and of a longer one that are looked at. */
const MAX_RECOGNIZED = 40;

/** An id as a spreadsheet writes it that has taken it for a number, in English and in most other languages. */
const ROUNDED = /^-?\d([.,]\d+)?E\+?\d+$/i;

/**
 * A whole number with thousands separated, also as in India, or with a fraction of zeros, as programs write it where a cell
 * has no number. Not `2019.0034`, which is how gardens number what they get.
 */
const SPELLED = /^[-+]?(\d{1,3}([.,'\u2019 \u00a0\u202f]\d{3})+|\d{1,2}(,\d{2})+,\d{3}|\d+)([.,]0+)?$/;

/** Creates the reader of records. As in Postgres's COPY, an empty cell is no value, and "" in quotes is the empty string. */
export function csvReader({ columns, separator }: CsvLayout): RecordReader {
  const idAt = columns.indexOf('id');
  const nameAt = columns.indexOf('name');
  const tagAt = columns.indexOf('tag');
  // Fewer are no error: Excel sometimes leaves out empty ones at the end of a row.
  // https://www.stata.com/support/faqs/data-management/how-excel-writes-empty-cells/
  const cellsIn = (record: Buffer) => cellsOf(record, separator, columns.length);
  const separating = separator.charCodeAt(0);
  return {
    // Excel writes rows that have been cleared as separators only.
    isEmpty: (record) => isBlank(record) || record.every((byte) => byte === separating),
    plantIn(record) {
      const cells = cellsIn(record);
      const name = cells[nameAt];
      const id = idAt < 0 ? undefined : idOf(cells[idAt], name);
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
    isUnnumbered(record) {
      try {
        return idAt >= 0 && !wasNumber(cellsIn(record)[idAt]);
      } catch {
        return false;
      }
    },
  };
}

/** Whether an id is a whole number, perhaps one that a spreadsheet has changed: another number would be another plant. */
function wasNumber(text = ''): boolean {
  const beginning = text.trim().slice(0, MAX_RECOGNIZED);
  return [INTEGER, ZEROS, ROUNDED, SPELLED].some((pattern) => pattern.test(beginning));
}

/** @param name of its plant, to find it by: the rows of a spreadsheet are no lines where its cells have several */
function idOf(text = '', name = ''): bigint {
  const id = INTEGER.test(text) ? BigInt(text) : undefined;
  if (id !== undefined && isPlantId(id)) return id;
  const missing = `id is missing${name && ` for ${shown(name)}`}`;
  throw new PlantStoreError('invalid_plant', text === '' ? missing : problemOf(text));
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
