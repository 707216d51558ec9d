import { entryCount, type Tally } from '../adapters/import/import-plants.ts';
import { formatCount } from './progress.ts';

/** The result of an import as a table for people. @param seconds its duration */
export function summary(tally: Tally, created: number, seconds: number): string {
  const { stored, conflicting, invalid } = tally;
  const total = entryCount(tally);
  const rows: [name: string, count: number][] = [
    ['created', created],
    // A plant created after its call timed out does not count as stored.
    ['already there', Math.max(stored - created, 0)],
    ['conflicting', conflicting],
    ['invalid', invalid],
  ];
  const width = Math.max(...rows.map(([, count]) => formatCount(count).length));
  const table = rows.map(([name, count]) => `${name.padEnd(13)}  ${formatCount(count).padStart(width)}`);
  return [`${formatCount(total)} plants in ${seconds.toFixed(1)} s, ${formatCount(total / seconds)}/s`, ...table].join(
    '\n',
  );
}
