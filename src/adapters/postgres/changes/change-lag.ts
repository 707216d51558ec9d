import type { Database } from '../database.ts';
import type { Run } from '../run.ts';
import { selectOldest } from './change-statements.ts';

/**
 * Measures how far the feed of changes is behind.
 *
 * @returns a function that resolves to the seconds for which a transaction that is still open has held back the feed,
 * as far as calls of this function show
 */
export function changesLag({ sql }: Database, run: Run): () => Promise<number> {
  /** Since when the oldest open transaction has been the oldest, as performance.now() counts. */
  let oldest = { id: '', since: 0 };

  return async () => {
    const { rows } = await run('backgroundReads', () => selectOldest.execute(sql));
    const [row] = rows;
    const now = performance.now();
    if (row === undefined || !row.is_lagging) oldest = { id: '', since: now };
    else if (row.oldest !== oldest.id) oldest = { id: row.oldest, since: now };
    return (now - oldest.since) / 1_000;
  };
}
