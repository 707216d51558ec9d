import { entriesIn, type Tally } from './import-plants.ts';
import { whole } from './progress.ts';

/** How an import ended, as a table for people. @param seconds that it took */
export function summary(tally: Tally, created: number, seconds: number): string {
  const { held, conflicting, invalid } = tally;
  const total = entriesIn(tally);
  const rows: [name: string, count: number][] = [
    ['created', created],
    // What was created after its deadline had passed is not held.
    ['already there', Math.max(held - created, 0)],
    ['conflicting', conflicting],
    ['invalid', invalid],
  ];
  const width = Math.max(...rows.map(([, count]) => whole(count).length));
  const table = rows.map(([name, count]) => `${name.padEnd(13)}  ${whole(count).padStart(width)}`);
  return [`${whole(total)} plants in ${seconds.toFixed(1)} s, ${whole(total / seconds)}/s`, ...table].join('\n');
}
