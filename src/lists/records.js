import { rowsIn } from '../formats/csv.js';

/* The records of a list. */

/** @import { Columns, Layout } from './columns.js' */
/** A record: `row` is what a spreadsheet shows, `raw` ends with a line end, `line` is NDJSON, and `problem` is why it is no plant. */
/** @typedef {{ row: number, raw: string, name?: string, line?: string, problem?: string }} ListRecord */
/** @typedef {{ id: bigint, name: string, tag?: string }} Plant */

/** A whole number. The service refuses those with too many digits. */
const INTEGER = /^(0|-?[1-9]\d{0,29})$/;
/** Characters of a line of JSON; the service takes as many bytes. */
const LINE_LENGTH_MAX = 64 * 1024;

/**
 * Reads the records of a list: of CSV, or lines of JSON where it has no layout. Rows that have only empty cells are left out.
 *
 * @param {string} text
 * @param {Layout | undefined} layout
 * @param {bigint} [idsFrom] the id of the first record: the others follow it, refused ones, too
 * @returns {Generator<ListRecord>}
 * @throws Error if a quote is never closed, or a line of a list that is to be numbered has an id
 */
export function* recordsOf(text, layout, idsFrom) {
  const { separator, start, header = 0 } = /** @type {Partial<Layout>} */ (layout ?? {});
  let nextId = idsFrom;
  for (const { row, raw, cells, problem } of rowsIn(text, separator, start, header + 1)) {
    if (problem === 'open') throw new Error(`row ${row}: a quote is never closed`);
    if (layout ? !cells.some((cell) => cell?.trim() || cell === '') : raw.trim() === '') continue;
    const id = nextId === undefined ? undefined : `${nextId++}`;
    const record = problem
      ? { problem: 'quotes must enclose a whole cell, and be doubled within it' }
      : layout
        ? plantOfCells(cells, layout, id)
        : plantOfJson(raw.trim(), row, id);
    const isLong = (record.line?.length ?? 0) > LINE_LENGTH_MAX;
    const lines = raw.endsWith('\n') ? raw : `${raw}\n`;
    yield { row, raw: lines, ...(isLong ? { problem: `a record has at most ${LINE_LENGTH_MAX} characters` } : record) };
  }
}

/** An empty cell is none, and "" an empty text. @param {(string | undefined)[]} cells @param {Columns} columns @param {string} [number] @returns {Partial<ListRecord>} */
function plantOfCells(cells, columns, number) {
  const texts = columns.name.map((n) => cells[n]).filter((text) => text !== undefined);
  const name = texts.length > 1 ? texts.filter(Boolean).join(' ') : texts[0];
  const id = number ?? cells[columns.id]?.trim();
  const problem = problemOf(id, name);
  if (problem !== undefined || name === undefined) return { problem: problem ?? 'name is missing' };
  const tag = cells[columns.tag];
  const end = tag === undefined ? '' : `,"tag":${JSON.stringify(tag)}`;
  return { name, line: `{"id":${id},"name":${JSON.stringify(name)}${end}}` };
}

/** What is wrong with an id, for people who keep a list in a spreadsheet. */
function problemOf(id = '', name = '') {
  if (INTEGER.test(id)) return undefined;
  const idText = JSON.stringify(id.slice(0, 100));
  if (id === '') return `id is missing${name && ` for ${JSON.stringify(name.slice(0, 100))}`}`;
  if (/^-?0+\d{1,29}$/.test(id)) return `id must have no leading zeros: write ${BigInt(id)}, not ${idText}`;
  const isRounded = /^-?\d([.,]\d+)?E\+?\d+$/i.test(id);
  return `id must be a whole number, not ${idText}${isRounded ? ': a spreadsheet has rounded it' : ''}`;
}

/** Lines are sent as they are. @param {string} line @param {number} row @param {string} [number] @returns {Partial<ListRecord>} */
function plantOfJson(line, row, number) {
  if (number === undefined) return { line };
  const [plant] = plantIn({ line });
  if (plant === undefined) return { problem: 'the line must be a JSON object with a name' };
  if (plant.id !== undefined) throw new Error(`row ${row} has an id: --ids-from is for lists without ids`);
  return { name: plant.name, line: line.replace('{', `{"id":${number},`) };
}

/** Parses JSON with all digits of its ids, which JSON.parse would round. @returns {unknown} */
export const parseExactly = (/** @type {string} */ text) =>
  JSON.parse(text, (key, value, /** @type {{ source?: string } | undefined} */ context = undefined) =>
    key === 'id' && context?.source ? BigInt(context.source) : value,
  );

/** The plant of a record, which only the service checks whole; none for a line that is no object with a name. @returns {Plant[]} */
export function plantIn(/** @type {Pick<ListRecord, 'line'>} */ { line = '' }) {
  try {
    const plant = /** @type {Plant | null} */ (parseExactly(line));
    return typeof plant?.name === 'string' ? [plant] : [];
  } catch {
    return [];
  }
}

/** A name without outer and repeated spaces: plants whose names differ by these alone are the same to people. */
export const foldSpaces = (/** @type {string} */ name) => name.trim().replace(/\s+/g, ' ');
