import type { LogReader, LogState } from './ports.ts';

/** Seconds for which a transaction may hold back the feed before this is reported. Most transactions are shorter. */
export const LONG = 5;

/** Milliseconds between two queries for the transaction: under load, each would find a different one. */
const INTERVAL = 1_000;

/**
 * Measures how long an open transaction has held back the feed: since it began or, where the role may not see that, since
 * this process first saw it.
 *
 * @param now milliseconds of a monotonic clock
 */
export function heldBackTime(holder: LogReader['holder'], now = () => performance.now()) {
  /** The transaction that the last state has shown, and when this process first saw it. */
  let met: { readonly settled: bigint; readonly at: number } | undefined;
  let asked: { readonly settled?: bigint; readonly began?: number; readonly at: number } = { at: -INTERVAL };

  function meet(settled: bigint | undefined): void {
    if (settled === undefined) met = undefined;
    else if (settled !== met?.settled) met = { settled, at: now() };
  }

  async function ask(): Promise<void> {
    asked = { ...asked, at: now() };
    const found = await holder();
    meet(found?.settled);
    if (found?.age) asked = { settled: found.settled, began: now() - found.age * 1_000, at: now() };
  }

  /** Seconds, according to the last state; 0 if nothing holds the feed back. */
  async function seconds(): Promise<number> {
    // If the query fails, the time since the first sight is used.
    if (met && asked.settled !== met.settled && now() - asked.at >= INTERVAL) await ask().catch(() => {});
    if (met === undefined) return 0;
    const began = asked.settled === met.settled ? asked.began : undefined;
    return (now() - (began ?? met.at)) / 1_000;
  }

  return {
    /** Must be called with each state of the feed that is read. */
    note: ({ settled, next }: LogState) => meet(settled < next ? settled : undefined),
    seconds,
    /** The same, after a new query. */
    async secondsNow(): Promise<number> {
      await ask();
      return seconds();
    },
  };
}
