/* CSV as RFC 4180 has it. The service reads and writes it, and so do clients, which get this file as it is: it imports nothing. */

export const separators = /** @type {const} */ ([',', ';', '\t', '|']);

/** @typedef {(typeof separators)[number]} Separator */

/** A text as a cell, which is read back as the same text: an empty cell without quotes is none. */
export function csvCell(/** @type {string} */ text, /** @type {string} */ separator) {
  const mustQuote = text === '' || /["\r\n]/.test(text) || text.includes(separator);
  return mustQuote ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Characters of a cell whose quotes are no longer undone. */
const MAX_PLAIN = 64 * 1024;

const [LINE_FEED, CARRIAGE_RETURN, QUOTE] = [0x0a, 0x0d, 0x22];

/**
 * Reads the record that begins at `start`, in linear time: a regular expression runs out of memory at some megabytes of
 * quotes. A quote within a cell that does not begin with one means itself.
 *
 * @returns `cells`, undefined where one is empty without quotes; `end`, where the next record begins; `lineEnd`, empty at the
 * end of the text; and what is wrong with its quotes, if anything is
 */
export function readRecord(/** @type {string} */ text, /** @type {string} */ separator, start = 0) {
  const between = separator.charCodeAt(0);
  const cells = /** @type {(string | undefined)[]} */ ([]);
  let problem = /** @type {'open' | 'misplaced' | undefined} */ (undefined);
  for (let at = start; ; at++) {
    let quoted = at;
    if (text.charCodeAt(at) === QUOTE) {
      do quoted = text.indexOf('"', quoted + 1) + 1;
      while (quoted > 0 && text.charCodeAt(quoted) === QUOTE);
      if (quoted === 0) return { cells, end: text.length, lineEnd: '', problem: /** @type {const} */ ('open') };
    }
    let end = quoted;
    for (let code = text.charCodeAt(end); end < text.length; code = text.charCodeAt(++end))
      if (code === between || code === LINE_FEED || code === CARRIAGE_RETURN) break;
    if (quoted > at) {
      const cell = text.slice(at + 1, quoted - 1);
      // A tenth of a second for a megabyte of quotes; what is so long is refused, or ignored, anyway.
      cells.push(cell.length > MAX_PLAIN ? cell : cell.replaceAll('""', '"'));
      if (end > quoted) problem = 'misplaced';
    } else cells.push(end > at ? text.slice(at, end) : undefined);
    if (text.charCodeAt(end) === between) {
      at = end;
      continue;
    }
    const lineEnd = text.startsWith('\r\n', end) ? '\r\n' : text.slice(end, end + 1);
    return { cells, end: end + lineEnd.length, lineEnd, problem };
  }
}
