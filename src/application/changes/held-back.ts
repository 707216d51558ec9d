import type { LogEnd, LogReader } from './ports.ts';

/** Seconds for which a transaction may hold back the log before this is reported. Most transactions are shorter. */
export const LONG_SECONDS_MIN = 5;

/** Milliseconds between two queries for the transaction: under load, each would find a different one. */
const QUERY_INTERVAL_MS = 1_000;

/**
 * Measures how long an open transaction has held back the log: since it began or, where the role may not see that, since
 * this process first saw it.
 */
export function heldBackTime(holder: LogReader['holder']) {
  /** The transaction that the last state has shown. */
  let transaction: { readonly settled: bigint; readonly since: number; readonly isAgeKnown: boolean } | undefined;
  let lastQuery = Number.NEGATIVE_INFINITY;

  function see(settled: bigint | undefined): void {
    if (settled === undefined) transaction = undefined;
    else if (settled !== transaction?.settled) transaction = { settled, since: performance.now(), isAgeKnown: false };
  }

  async function query(): Promise<void> {
    lastQuery = performance.now();
    const current = await holder();
    see(current?.settled);
    if (current?.age) {
      transaction = { settled: current.settled, since: performance.now() - current.age * 1_000, isAgeKnown: true };
    }
  }

  /** Seconds, according to the last state; 0 if nothing holds the log back. */
  async function seconds(): Promise<number> {
    const isDue = performance.now() - lastQuery >= QUERY_INTERVAL_MS;
    // If the query fails, the time since the first sight is used.
    if (transaction && !transaction.isAgeKnown && isDue) await query().catch(() => {});
    return transaction === undefined ? 0 : (performance.now() - transaction.since) / 1_000;
  }

  return {
    /** Must be called with each state of the log that is read. */
    note: ({ settled, next }: Pick<LogEnd, 'settled' | 'next'>) => see(settled < next ? settled : undefined),
    seconds,
    /** The same, after a new query. */
    async secondsNow(): Promise<number> {
      await query();
      return seconds();
    },
  };
}
