import type { LogReader, LogState } from './ports.ts';

/** Seconds for which a transaction may hold back the feed before anybody is told: most are shorter. */
export const LONG = 5;

/** Milliseconds between two questions about the transaction: under load it is another one all the time. */
const INTERVAL = 1_000;

/**
 * Says for how long an open transaction has held back the feed: the time for which it has been open, or, where the role may
 * not see that, the time since this process first saw it.
 *
 * @param now milliseconds of a monotonic clock
 */
export function heldBackTime(holder: LogReader['holder'], now = () => performance.now()) {
  /** The transaction that the last state has shown, and when it was met. */
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

  /** Seconds, 0 if nothing holds it back, as the last state has shown. */
  async function seconds(): Promise<number> {
    // If that fails, what is known without it will do.
    if (met && asked.settled !== met.settled && now() - asked.at >= INTERVAL) await ask().catch(() => {});
    if (met === undefined) return 0;
    const began = asked.settled === met.settled ? asked.began : undefined;
    return (now() - (began ?? met.at)) / 1_000;
  }

  return {
    /** To be called with each state of the feed that is read. */
    note: ({ settled, next }: LogState) => meet(settled < next ? settled : undefined),
    seconds,
    /** The same, as it is now. */
    async secondsNow(): Promise<number> {
      await ask();
      return seconds();
    },
  };
}
