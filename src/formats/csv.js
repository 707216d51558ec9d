/* CSV as RFC 4180 has it. The service reads and writes it, and so do clients, which get this file as it is: it imports nothing. */

export const separators = /** @type {const} */ ([',', ';', '\t', '|']);

/** @typedef {(typeof separators)[number]} Separator */

/** Writes a text as a cell that is read back as the same text. An empty cell without quotes would mean no text. */
export function csvCell(/** @type {string} */ text, /** @type {string} */ separator) {
  const mustQuote = text === '' || /["\r\n]/.test(text) || text.includes(separator);
  return mustQuote ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A record of a text; it ends before the offset `end`. `row` counts records from 1, also blank ones. A cell is undefined if
 * it is empty without quotes. `problem` says what is wrong with the quotes of the record.
 *
 * @typedef {{ row: number, raw: string, end: number, cells: (string | undefined)[], problem: 'open' | 'misplaced' | undefined }} Row
 */

/**
 * Reads records one after another: of CSV, or lines, which have no cells, if there is no separator.
 *
 * @param {string} text
 * @param {string | undefined} separator
 * @param {number} [first] where the first record begins
 * @param {number} [firstRow]
 * @returns {Generator<Row, undefined>}
 */
export function* rowsIn(text, separator, first = 0, firstRow = 1) {
  for (let [start, row] = [first, firstRow]; start < text.length; row++) {
    const { cells, end, problem } = separator
      ? readRecord(text, separator, start)
      : { cells: [], end: text.indexOf('\n', start) + 1 || text.length, problem: undefined };
    yield { row, raw: text.slice(start, end), end, cells, problem };
    // A record for each empty line would take twenty times as long.
    for (start = end; text.charCodeAt(start) === LINE_FEED; start++) row++;
  }
}

/** The most cells kept of a record, as many as Excel has columns. A body of separators would take eight times its size. */
const CELLS_MAX = 16_384;
/** In longer cells, quotes stay doubled: a megabyte of them takes a tenth of a second, and is refused or ignored anyway. */
const PLAIN_LENGTH_MAX = 64 * 1024;

const [LINE_FEED, CARRIAGE_RETURN, QUOTE] = [0x0a, 0x0d, 0x22];

/**
 * Reads the record that begins at `start`, in linear time: a regular expression runs out of memory at some megabytes of
 * quotes. A quote within a cell that does not begin with one means itself.
 */
function readRecord(/** @type {string} */ text, /** @type {string} */ separator, /** @type {number} */ start) {
  const between = separator.charCodeAt(0);
  const cells = /** @type {Row['cells']} */ ([]);
  let problem = /** @type {Row['problem']} */ (undefined);
  for (let at = start; ; at++) {
    let quoteEnd = at;
    if (text.charCodeAt(at) === QUOTE) {
      do quoteEnd = text.indexOf('"', quoteEnd + 1) + 1;
      while (quoteEnd > 0 && text.charCodeAt(quoteEnd) === QUOTE);
      if (quoteEnd === 0) return { cells, end: text.length, problem: /** @type {const} */ ('open') };
    }
    let end = quoteEnd;
    for (let code = text.charCodeAt(end); end < text.length; code = text.charCodeAt(++end))
      if (code === between || code === LINE_FEED || code === CARRIAGE_RETURN) break;
    const isQuoted = quoteEnd > at;
    if (isQuoted && end > quoteEnd) problem = 'misplaced';
    if (cells.length < CELLS_MAX)
      cells.push(isQuoted ? undoubled(text.slice(at + 1, quoteEnd - 1)) : text.slice(at, end) || undefined);
    if (text.charCodeAt(end) === between) {
      at = end;
      continue;
    }
    if (text.charCodeAt(end) === CARRIAGE_RETURN && text.charCodeAt(end + 1) === LINE_FEED) end++;
    return { cells, end: Math.min(end + 1, text.length), problem };
  }
}

const undoubled = (/** @type {string} */ cell) => (cell.length > PLAIN_LENGTH_MAX ? cell : cell.replaceAll('""', '"'));
