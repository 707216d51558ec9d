/** @import { List, Reading, SentPart } from './types.d.ts' */
import { refusedRecord } from '../../../src/wire/lists/parts.js';

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
  const head = new Blob([hasMark ? '\uFEFF' : '', list.isCsv ? `${first}\r\n` : '']);
  const others = /** @type {Blob[]} */ ([]);
  const unnumbered = /** @type {Blob[]} */ ([]);
  const lines = /** @type {number[]} */ ([]);
  return {
    add(/** @type {SentPart} */ part) {
      const { yes = [], no = [] } = Object.groupBy(part.refused, (one) => (one.unnumbered ? 'yes' : 'no'));
      if (no.length > 0) others.push(new Blob(no.flatMap((refusal) => refusedRecord(part, refusal))));
      for (const refusal of yes) {
        unnumbered.push(new Blob(refusedRecord(part, refusal)));
        for (let { line } = refusal; line <= refusal.lastLine; line++) lines.push(line + part.linesBefore);
      }
    },
    blob: () => new Blob([head, ...others, ...unnumbered]),
    /** @returns those whose ids are whole numbers, or undefined */
    others: () => (others.length > 0 ? new Blob([head, ...others]) : undefined),
    /** @returns {List} */
    unnumbered() {
      const file = new File(unnumbered, `${list.file.name}.numbered.csv`);
      return { ...list, file, encoding: 'utf-8', hasMark: false, firstLine: 1, lines };
    },
  };
}
