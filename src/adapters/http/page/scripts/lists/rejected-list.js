/** @import { Reading, SentPart } from './types.d.ts' */

/**
 * Keeps the records that were refused as they were, octet for octet, behind a line of names, and with their ids in front
 * if the import has numbered them.
 */
export function rejectedList(/** @type {Reading} */ { list: { hasMark, isCsv, separator }, idsFrom, names }) {
  const isNumbered = idsFrom !== undefined;
  const first = (isNumbered ? ['id', ...names] : names).join(separator);
  // With a byte order mark only if the list had one: a spreadsheet takes the octets of another encoding for UTF-8 behind
  // it, and destroys them. A Blob for each part: browsers keep them outside of the page's memory.
  const blobs = [new Blob([hasMark ? '\uFEFF' : '', isCsv ? `${first}\r\n` : ''])];
  return {
    add(/** @type {SentPart} */ { refused, bytesOf }) {
      const records = refused.flatMap(({ line, lastLine, id }) => {
        const record = bytesOf(line, lastLine);
        const end = record.at(-1) === 0x0a ? '' : '\n';
        if (isNumbered && isCsv) return [`${id ?? ''}${separator}`, record, end];
        const start = record.findIndex((byte) => byte > 0x20);
        // Only an object of JSON can have an id, and an id beyond int64 is none.
        if (!isNumbered || id === undefined || record[start] !== 0x7b) return [record, end];
        const members = record.slice(start + 1);
        const isEmpty = members.find((byte) => byte > 0x20) === 0x7d;
        return [`{"id":${id}${isEmpty ? '' : ','}`, members, end];
      });
      if (records.length > 0) blobs.push(new Blob(records));
    },
    blob: () => new Blob(blobs),
  };
}
