import { isAfter, type Position, START } from './change-cursor.ts';

interface Reader {
  readonly after: Position;
  readonly wake: (mayHaveMore: boolean) => void;
  /** Its index among those waiting. */
  index: number;
}

/** Milliseconds between probes, for the changes of other instances. */
const INTERVAL = 40;

/** Milliseconds between two times that readers are woken: under load each then gets more than one change. */
const MIN_GAP = 50;

/**
 * Wakes readers when the feed of changes has grown. All of them share one probe; without any there is none.
 *
 * @param head resolves to the last position of the feed
 */
export function changeWatch(head: () => Promise<Position>) {
  // An array in which the last one replaces one that has left; not a Set, as in store-call.ts.
  const waiting: Reader[] = [];
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let isProbing = false;
  let isAnnounced = false;
  let lastWoken = Number.NEGATIVE_INFINITY;

  async function probe(): Promise<void> {
    timer = undefined;
    isProbing = true;
    isAnnounced = false;
    // While the database is unreachable nothing is new; a reader learns of it when its time is over.
    const last = await head().catch(() => START);
    isProbing = false;
    const ready = waiting.filter(({ after }) => isAfter(last, after));
    if (ready.length > 0) lastWoken = performance.now();
    for (const { wake } of ready) wake(true);
    schedule(isAnnounced ? 0 : INTERVAL);
  }

  function leave(reader: Reader): void {
    const last = waiting.pop();
    if (last === undefined || last === reader) return;
    waiting[reader.index] = last;
    last.index = reader.index;
  }

  /** Probes after so many milliseconds, unless it will sooner. */
  function schedule(milliseconds: number): void {
    if (waiting.length === 0 || isProbing || (timer !== undefined && milliseconds > 0)) return;
    clearTimeout(timer);
    timer = setTimeout(probe, Math.max(milliseconds, lastWoken + MIN_GAP - performance.now()));
  }

  return {
    /** Resolves to true once the feed goes beyond the position, to false if something else ends the wait. */
    wait(after: Position, milliseconds: number, signal: AbortSignal): Promise<boolean> {
      if (isStopped || milliseconds <= 0 || signal.aborted) return Promise.resolve(false);
      return new Promise((resolve) => {
        const reader = { after, wake, index: waiting.length };
        const timeout = setTimeout(wake, milliseconds, false);
        const abort = () => wake(false);
        signal.addEventListener('abort', abort);
        function wake(mayHaveMore: boolean): void {
          clearTimeout(timeout);
          signal.removeEventListener('abort', abort);
          leave(reader);
          resolve(mayHaveMore);
        }
        waiting.push(reader);
        schedule(0);
      });
    },
    /** Something was written: probes at once. */
    announce(): void {
      isAnnounced = true;
      schedule(0);
    },
    /** How many readers are waiting. */
    size: () => waiting.length,
    /** Ends all waits, and begins no more. */
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
      for (const { wake } of [...waiting]) wake(false);
    },
  };
}
