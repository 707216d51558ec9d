import { csvCell } from '../formats/csv.js';
import { unclear } from './encodings.js';

/* Workbooks, which a library reads: it is passed in. From there on, a sheet is CSV. */

/** @typedef {{ sheet: string, data: unknown[][] }} Sheet */

/** Numbers as they are written, since those of JavaScript would round ids. */
const AS_WRITTEN = { parseNumber: (/** @type {string} */ text) => text, trim: false };

/**
 * Reads the sheet that the person says, or the only one that has cells, as CSV.
 *
 * @param {Uint8Array} bytes
 * @param {(options: typeof AS_WRITTEN) => Promise<Sheet[]>} read the library, which reads all sheets
 * @param {string} [name] of the sheet
 * @returns undefined if the list is no .xlsx
 * @throws Error that asks for the sheet, or says how to save the list
 */
export async function sheetText(bytes, read, name) {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 100));
  // An .ods is an archive, too.
  if (!start.startsWith('PK\x03\x04') || start.includes('opendocument')) return undefined;
  const sheets = await read(AS_WRITTEN).catch((error) => {
    throw new Error(`this workbook cannot be read (${error.message}): save it again as .xlsx, or as CSV`);
  });
  const [first, second] = sheets.filter(({ data }) => data.length > 0);
  const sheet = name === undefined && !second ? (first ?? { data: [] }) : sheets.find(({ sheet }) => sheet === name);
  if (!sheet) throw unclear('sheet', `Which sheet: ${sheets.map(({ sheet }) => JSON.stringify(sheet)).join(' or ')}?`);
  return csvOf(sheet.data);
}

/** A sheet as CSV. Of a date, the day is kept. @param {unknown[][]} rows */
const csvOf = (rows) => rows.map((cells) => `${cells.map(cellOf).join(',')}\n`).join('');

function cellOf(/** @type {unknown} */ cell) {
  if (cell === null) return '';
  return csvCell(cell instanceof Date ? cell.toISOString().slice(0, 10) : `${cell}`, ',');
}
