/* How a list is encoded. Clients have this file as well as the service: it imports nothing. */

/** @typedef {'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'} Encoding */

/** @type {readonly (readonly [Encoding, readonly number[]])[]} */
const MARKS = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/** The encoding whose byte order mark a list begins with, and the mark; undefined if there is none. */
export const markOf = (/** @type {Uint8Array} */ bytes) =>
  MARKS.find(([, mark]) => mark.every((octet, n) => bytes[n] === octet));

/** What workbooks begin with: a ZIP archive, and the older form. */
const WORKBOOKS = [
  [0x50, 0x4b, 0x03, 0x04],
  [0xd0, 0xcf, 0x11, 0xe0],
];

/** @throws Error if the beginning of a list is that of a workbook */
export function refuseWorkbook(/** @type {Uint8Array} */ bytes) {
  if (!WORKBOOKS.some((start) => start.every((octet, n) => bytes[n] === octet))) return;
  throw new Error('the list is a workbook, as .xlsx and .ods are: save it as CSV in Excel or LibreOffice');
}

/** Finds out from all octets of a list whether it is UTF-8, or else Windows-1252. */
export function encodingFinder() {
  // Of a character of UTF-8 that is not complete: octets that are left, and the limits of the next one.
  let [left, lowest, highest] = [0, 0, 0];
  let line = 1;
  let hasUtf8 = false;
  let otherLine = 0;

  function add(/** @type {Uint8Array} */ bytes) {
    for (const octet of bytes) {
      if (left > 0 && octet >= lowest && octet <= highest) {
        left--;
        hasUtf8 ||= left === 0;
        [lowest, highest] = [0x80, 0xbf];
        continue;
      }
      if (left > 0) otherLine ||= line;
      left = 0;
      if (octet === 0x0a) line++;
      if (octet < 0x80) continue;
      // RFC 3629 section 4.
      if (octet >= 0xc2 && octet <= 0xf4) left = octet < 0xe0 ? 1 : octet < 0xf0 ? 2 : 3;
      else otherLine ||= line;
      lowest = octet === 0xe0 ? 0xa0 : octet === 0xf0 ? 0x90 : 0x80;
      highest = octet === 0xed ? 0x9f : octet === 0xf4 ? 0x8f : 0xbf;
    }
  }

  /**
   * @param {boolean} isEnd whether a character that is not complete has no more octets
   * @returns {Encoding}
   * @throws Error, naming the first line that is not UTF-8, if the list has both
   */
  function found(isEnd) {
    if (isEnd && left > 0) otherLine ||= line;
    if (otherLine === 0) return 'utf-8';
    if (!hasUtf8) return 'windows-1252';
    throw new Error(`line ${otherLine} is not in UTF-8, but others are: in Excel, save the list as "CSV UTF-8"`);
  }
  return { add, found };
}

/**
 * The encoding of a list of CSV, by all of its octets.
 *
 * @param {AsyncIterable<Uint8Array> | Iterable<Uint8Array>} chunks
 * @param {boolean} isWhole whether there are no more
 * @throws Error in words if it is none, or there are two
 */
export async function encodingOf(chunks, isWhole = true) {
  const finder = encodingFinder();
  let isFirst = true;
  for await (const bytes of chunks) {
    if (isFirst) refuseWorkbook(bytes);
    const [marked] = (isFirst && markOf(bytes)) || [];
    if (marked) return marked;
    isFirst = false;
    finder.add(bytes);
  }
  return finder.found(isWhole);
}
