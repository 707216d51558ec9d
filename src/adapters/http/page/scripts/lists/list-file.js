/** @import { List } from './types.d.ts' */

/** Columns that the service takes. */
const MAX_COLUMNS = 1_000;

/** @returns {Promise<Uint8Array<ArrayBuffer>>} a slice, since the whole may be larger than the memory */
export async function bytesOf(/** @type {File} */ file, /** @type {number} */ from, /** @type {number} */ length) {
  const bytes = await file
    .slice(from, from + length)
    .arrayBuffer()
    .catch(() => undefined);
  if (bytes) return new Uint8Array(bytes);
  throw new Error('This list cannot be read: it was moved or changed, or it is a folder. Choose it again.');
}

/**
 * Reads what a list begins with. Of CSV that is only the line of names, for people to see: the service reads the records.
 *
 * @throws Error in words if it is no list
 * @returns {Promise<List>}
 */
export async function readBeginning(/** @type {File} */ file) {
  const bytes = await bytesOf(file, 0, 1024 ** 2);
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const [, before = '', line = '', end = ''] = /^(\uFEFF?(?:[ \t\r]*\n)*)([^\n]*?)(\r?\n|$)/.exec(text) ?? [];
  // Octets that are not UTF-8 become U+FFFD, which a plant may have as well.
  const isUtf8 = new TextEncoder().encode(before + line).every((octet, n) => octet === bytes[n]);
  if (!isUtf8 || line.includes('\0'))
    throw new Error('This is no text in UTF-8. In Excel, save the list as “CSV UTF-8”.');
  if (line.trim() === '') throw new Error('This list is empty.');
  // Also where the first record of lines of JSON is none.
  const isCsv = !line.trimStart().startsWith('{') && !/\.(ndjson|jsonl)$/i.test(file.name);
  // The separator is the character beside a known column name, or else the most frequent candidate.
  const [, left, right] = /(?:^|([,;\t]))"?(?:id|name|tag)"?(?:([,;\t])|$)/i.exec(line) ?? [];
  const count = (/** @type {string} */ one) => line.replace(/"[^"]*"/g, '').split(one).length;
  const most = [',', '\t', ';'].reduce((best, one) => (count(one) > count(best) ? one : best));
  const separator = left ?? right ?? most;
  if (isCsv && count(separator) > MAX_COLUMNS)
    throw new Error(`The first line of this list has more than ${MAX_COLUMNS} columns.`);
  const cells = (separator + line).matchAll(RegExp(`${separator}((?:"[^"]*"|[^"${separator}])*)`, 'g'));
  const names = isCsv ? Array.from(cells, ([, cell = '']) => cell) : /"id"\s*:/.test(text) ? ['id'] : [];
  const hasMark = before.startsWith('\uFEFF');
  return {
    file,
    hasMark,
    isCsv,
    separator,
    names,
    firstLine: placeAfter(before),
    secondLine: placeAfter(before + line + end),
  };
}

function placeAfter(/** @type {string} */ text) {
  return { octets: new TextEncoder().encode(text).length, lines: text.split('\n').length - 1 };
}
