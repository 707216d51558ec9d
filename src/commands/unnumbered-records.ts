import { type ListSource, refusedRecord } from '../wire/lists/parts.js';
import type { Part } from './remote-service.ts';

/** Collects the records of a list of CSV whose ids are no whole numbers: they are another list, which can be numbered. */
export function unnumberedRecords() {
  const records: Uint8Array[] = [];
  /** Of the list. */
  const lines: number[] = [];
  let layout: Record<string, string> = {};
  return {
    /** @returns the part without them */
    take(part: Part): Part {
      const { columns, separator } = part;
      if (columns && separator) layout = { columns: columns.map((one) => (one === 'id' ? '' : one)).join(), separator };
      const [others, taken] = [
        part.refused.filter((one) => !one.unnumbered),
        part.refused.filter((one) => one.unnumbered),
      ];
      for (const refusal of taken) {
        records.push(Buffer.concat(refusedRecord(part, refusal)));
        for (let { line } = refusal; line <= refusal.lastLine; line++) lines.push(line + part.linesBefore);
      }
      return { ...part, refused: others, records: part.records - taken.length };
    },
    count: () => records.length,
    lineOf: (line: number) => lines[line - 1] ?? line,
    /** What its columns are, for the query. */
    layout: () => layout,
    source(): ListSource {
      let rest = Buffer.concat(records);
      return {
        peek: async (length) => ({ bytes: rest.subarray(0, length), isEnd: rest.length <= length }),
        skip(length) {
          rest = rest.subarray(length);
        },
      };
    },
  };
}
