/** @import { List, Reading, SentPart } from './types.d.ts' */
import { refusedRecord } from './parts.js';

/**
 * Keeps the records that were refused as they were, behind a line of names; in UTF-8 if the list was in another encoding.
 * Those whose ids are no whole numbers are another list, too.
 */
export function rejectedList(/** @type {Reading} */ { list, separator, names }) {
  const cell = (/** @type {string} */ name) =>
    /["\r\n]/.test(name) || name.includes(separator) ? `"${name.replaceAll('"', '""')}"` : name;
  const first = names.map(cell).join(separator);
  // A Blob for each part: browsers keep them outside of the page's memory.
  const hasMark = list.hasMark || list.encoding !== 'utf-8';
  const blobs = [new Blob([hasMark ? '\uFEFF' : '', list.isCsv ? `${first}\r\n` : ''])];
  const unnumbered = /** @type {Blob[]} */ ([]);
  const lines = /** @type {number[]} */ ([]);
  return {
    add(/** @type {SentPart} */ part) {
      const records = part.refused.flatMap((refusal) => refusedRecord(part, refusal));
      if (records.length > 0) blobs.push(new Blob(records));
      for (const refusal of part.refused.filter((one) => one.unnumbered)) {
        unnumbered.push(new Blob(refusedRecord(part, refusal)));
        for (let { line } = refusal; line <= refusal.lastLine; line++) lines.push(line + part.linesBefore);
      }
    },
    blob: () => new Blob(blobs),
    /** @returns {List} */
    unnumbered() {
      const file = new File(unnumbered, `${list.file.name}.numbered.csv`);
      return { ...list, file, encoding: 'utf-8', hasMark: false, firstLine: 1, lines };
    },
  };
}
