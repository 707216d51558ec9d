import { say } from '../process/say.ts';
import { formatCount } from './progress.ts';
import type { Part } from './remote-service.ts';

/** Refusals that are shown. */
const SHOWN = 10;

/** Counts what becomes of a list, and says what is guessed, ignored and refused of it. */
export function importReport() {
  const counts = { created: 0, changed: 0, unchanged: 0, refused: 0 };
  const total = { parts: 0, plants: 0, bytes: 0, sameName: 0, repeated: 0 };
  const ignored = new Set<string>();
  const start = performance.now();
  return {
    counts,
    total,
    /** @param lineOf the line of the list that a line of the part is, both from 1 */
    add(part: Part, lineOf: (line: number) => number): void {
      const { header = 1 } = part;
      if (header > 1) say(`line ${header} names the columns, so nothing before it is imported: --header changes that`);
      for (const { column, name } of part.guessed ?? []) say(`${name} is the ${column}: --columns changes that`);
      for (const name of new Set(part.ignored).difference(ignored)) say(`ignored: ${name}`);
      for (const name of part.ignored) ignored.add(name);
      for (const { line, lastLine, message } of part.refused.slice(0, Math.max(SHOWN - counts.refused, 0))) {
        const lines = lastLine > line ? `lines ${lineOf(line + part.linesBefore)} to` : 'line';
        say(`${lines} ${lineOf(lastLine + part.linesBefore)}: ${message}`);
      }
      for (const name of ['created', 'changed', 'unchanged'] as const) counts[name] += part[name];
      counts.refused += part.refused.length;
      total.sameName += part.sameName ?? 0;
      total.repeated += part.repeated;
      total.plants += part.records;
      total.bytes += part.consumed;
      total.parts++;
    },
    print(): void {
      console.log(summary(total.plants, counts, (performance.now() - start) / 1_000));
      const { sameName, repeated } = total;
      if (sameName > 0)
        console.log(`Left out, since their names are stored: ${formatCount(sameName)} (--same-name add)`);
      if (repeated > 0) console.log(`Twice in the list: ${formatCount(repeated)}`);
    },
  };
}

/** What was done in all, and the counts by name as a table for people. @param seconds that it took */
function summary(plants: number, counts: Readonly<Record<string, number>>, seconds: number): string {
  const rows = Object.entries(counts).map(([name, count]) => [name, formatCount(count)] as const);
  const width = Math.max(...rows.map(([, count]) => count.length));
  const table = rows.map(([name, count]) => `${name.padEnd(9)}  ${count.padStart(width)}`);
  const total = `${formatCount(plants)} plants in ${seconds.toFixed(1)} s, ${formatCount(plants / seconds)}/s`;
  return [total, ...table].join('\n');
}
