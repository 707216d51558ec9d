import { readRecord } from '../formats/csv.js';

/* The records of a list. */

/** @import { Layout } from './columns.js' */
/** A record: its row as a spreadsheet counts them, its text, and what it is as a line of NDJSON, or why it is no plant. */
/** @typedef {{ row: number, raw: string, name?: string, line?: string, problem?: string }} ListRecord */
/** @typedef {{ id: bigint, name: string, tag?: string }} Plant */

/** A whole number. The service refuses those with too many digits. */
const WHOLE = /^(0|-?[1-9]\d{0,29})$/;

/**
 * Reads the records of a list: of CSV, or lines of JSON where it has no layout.
 *
 * @param {Layout | undefined} layout
 * @param {bigint} [idsFrom] the id of the first record: the others follow it, refused ones, too
 * @throws Error if a quote is never closed, or a line of a list that is to be numbered has an id
 */
export const recordsOf = (/** @type {string} */ text, layout, idsFrom) =>
  layout ? csvRecords(text, layout, idsFrom) : jsonRecords(text, idsFrom);

/**
 * An empty cell is none, and "" an empty text. Rows that have only empty cells are left out.
 *
 * @param {string} text
 * @param {Layout} layout
 * @param {bigint} [idsFrom]
 * @returns {Generator<ListRecord>}
 */
function* csvRecords(text, layout, idsFrom) {
  let next = idsFrom;
  for (let { start: at, row } = layout; at < text.length; row++) {
    const { cells, end, problem: quotes } = readRecord(text, layout.separator, at);
    if (quotes === 'open') throw new Error(`row ${row}: a quote is never closed`);
    const raw = text.slice(at, end);
    at = end;
    if (!cells.some((cell) => cell?.trim() || cell === '')) continue;
    const parts = layout.name.flatMap((n) => cells[n] ?? []);
    const id = next === undefined ? cells[layout.id]?.trim() : `${next++}`;
    const name = layout.name.length > 1 ? parts.filter(Boolean).join(' ') : parts[0];
    const problem = quotes ? 'quotes must enclose a whole cell, and be doubled within it' : problemOf(id, name);
    if (problem || name === undefined) yield { row, raw, problem: problem ?? 'name is missing' };
    else yield { row, raw, name, line: lineOf(`${id}`, name, cells[layout.tag]) };
  }
}

const lineOf = (/** @type {string} */ id, /** @type {string} */ name, /** @type {string | undefined} */ tag) =>
  `{"id":${id},"name":${JSON.stringify(name)}${tag === undefined ? '' : `,"tag":${JSON.stringify(tag)}`}}`;

/** What is wrong with an id, for people who keep a list in a spreadsheet. */
function problemOf(id = '', name = '') {
  if (WHOLE.test(id)) return undefined;
  const shown = JSON.stringify(id.slice(0, 100));
  if (id === '') return `id is missing${name && ` for ${JSON.stringify(name.slice(0, 100))}`}`;
  if (/^-?0+\d{1,29}$/.test(id)) return `id must have no leading zeros: write ${BigInt(id)}, not ${shown}`;
  const isRounded = /^-?\d([.,]\d+)?E\+?\d+$/i.test(id);
  return `id must be a whole number, not ${shown}${isRounded ? ': a spreadsheet has rounded it' : ''}`;
}

/** Of a line of JSON; the service takes as many bytes. */
const LONGEST = 64 * 1024;

/** The lines are sent as they are. @param {string} text @param {bigint} [idsFrom] @returns {Generator<ListRecord>} */
function* jsonRecords(text, idsFrom) {
  let next = idsFrom;
  for (let [at, row] = [0, 1]; at < text.length; row++) {
    const end = text.indexOf('\n', at) + 1 || text.length;
    const raw = text.slice(at, end);
    at = end;
    const line = raw.trim();
    if (line === '') continue;
    const id = next === undefined ? undefined : next++;
    if (line.length > LONGEST) {
      yield { row, raw, problem: `a record has at most ${LONGEST} characters` };
      continue;
    }
    if (id === undefined) {
      yield { row, raw, line };
      continue;
    }
    const plant = parsed(line);
    if (plant?.id !== undefined) throw new Error(`row ${row} has an id: --ids-from is for lists without ids`);
    if (typeof plant?.name !== 'string') yield { row, raw, problem: 'the line must be a JSON object with a name' };
    else yield { row, raw, name: plant.name, line: line.replace('{', `{"id":${id},`) };
  }
}

/** Parses JSON with all digits of its ids, which JSON.parse would round. @returns {unknown} */
export const parseExactly = (/** @type {string} */ text) =>
  JSON.parse(text, (key, value, /** @type {{ source?: string } | undefined} */ context = undefined) =>
    key === 'id' && context?.source ? BigInt(context.source) : value,
  );

/** The plant of a record, as far as it can be seen here; none if it is none. @returns {Plant[]} */
export function plantIn(/** @type {ListRecord} */ { line = '' }) {
  try {
    const plant = /** @type {Plant | null} */ (parseExactly(line));
    return typeof plant?.name === 'string' ? [plant] : [];
  } catch {
    return [];
  }
}

/** A name without outer and repeated spaces: plants whose names differ by these alone are the same to people. */
export const folded = (/** @type {string} */ name) => name.trim().replace(/\s+/g, ' ');

/** @returns {{ id?: unknown, name?: unknown } | null} */
function parsed(/** @type {string} */ line) {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
