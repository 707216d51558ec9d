import type { Position } from '../../application/ports.ts';
import { type Cursor, isAfter, isNews } from './change-cursor.ts';
import type { FeedEnd } from './feed-reader.ts';

interface Reader {
  /** Whether the reader waits for such an end of the feed. */
  readonly isNews: (end: FeedEnd) => boolean;
  readonly interval: number;
  readonly wake: (end: FeedEnd | undefined) => void;
}

/** Milliseconds between probes, for the changes of other instances. */
const INTERVAL = 40;

/** The same while only webhooks wait. */
const WEBHOOKS_INTERVAL = 250;

/** Milliseconds after which a webhook reads without news. */
const WEBHOOKS_WAIT = 60_000;

/**
 * Milliseconds between two times that readers are woken: at least, more for each reader that was woken, and at most. Each
 * response takes a fifth of a millisecond of the CPU, and as much again at the reader.
 */
const GAP = { min: 50, perReader: 5, max: 500 };

/**
 * Wakes readers when the feed of changes has grown. All readers share one probe; without readers there is none. They are
 * woken together and learn the same end of the feed, so that those who read up to it are at one position from then on.
 *
 * @param probe resolves to the end of the feed, undefined if it is not known now
 */
export function changeWatch(probe: () => Promise<FeedEnd | undefined>) {
  const waiting = new Set<Reader>();
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let isProbing = false;
  let isAnnounced = false;
  /** When readers may be woken again, as performance.now() counts. */
  let gapEnd = 0;
  /** The end of the feed, as the last probe has shown it. */
  let known: FeedEnd | undefined;

  async function wakeReady(): Promise<void> {
    timer = undefined;
    isProbing = true;
    isAnnounced = false;
    const end = await probe();
    isProbing = false;
    known = end;
    let next = WEBHOOKS_INTERVAL;
    let woken = 0;
    for (const { isNews, interval, wake } of waiting) {
      if (end !== undefined && isNews(end)) {
        woken++;
        wake(end);
      } else next = Math.min(next, interval);
    }
    if (woken > 0) gapEnd = performance.now() + Math.min(GAP.min + woken * GAP.perReader, GAP.max);
    schedule(isAnnounced ? 0 : next);
  }

  /** Probes after so many milliseconds, unless it will sooner. */
  function schedule(milliseconds: number): void {
    if (waiting.size === 0 || isProbing || (timer !== undefined && milliseconds > 0)) return;
    clearTimeout(timer);
    timer = setTimeout(wakeReady, Math.max(milliseconds, gapEnd - performance.now()));
  }

  /** @returns the end of the feed that is news; undefined after so many milliseconds, or if something else ends the wait */
  function wait(reader: Omit<Reader, 'wake'>, milliseconds: number, signal: AbortSignal): Promise<FeedEnd | undefined> {
    if (isStopped || milliseconds <= 0 || signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const one = { ...reader, wake };
      const timeout = setTimeout(wake, milliseconds, undefined);
      const abort = () => wake(undefined);
      signal.addEventListener('abort', abort);
      function wake(end: FeedEnd | undefined): void {
        clearTimeout(timeout);
        signal.removeEventListener('abort', abort);
        waiting.delete(one);
        resolve(end);
      }
      waiting.add(one);
      schedule(0);
    });
  }

  return {
    /** The end of the feed, if the last probe has shown it after the position. */
    knownEnd: (position: Position) => (known !== undefined && isAfter(known.position, position) ? known : undefined),
    /**
     * Waits until a probe shows that the cursor is behind the end of the feed, or is not valid any more.
     *
     * @returns that end; undefined after so many milliseconds, or when something else ends the wait
     */
    wait(cursor: Cursor, milliseconds: number, signal: AbortSignal): Promise<FeedEnd | undefined> {
      return wait({ isNews: (end) => isNews(cursor, end), interval: INTERVAL }, milliseconds, signal);
    },
    /** As `ReadEntries.awaitEntries` of webhooks, whose positions belong to no epoch. */
    async awaitEntries(after: Position, signal: AbortSignal): Promise<void> {
      const isBehind = ({ position }: FeedEnd) => isAfter(position, after);
      await wait({ isNews: isBehind, interval: WEBHOOKS_INTERVAL }, WEBHOOKS_WAIT, signal);
    },
    /** Something was written: probes at once. */
    announce(): void {
      isAnnounced = true;
      schedule(0);
    },
    /** Ends all waits, and begins no more. */
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
      for (const { wake } of waiting) wake(undefined);
    },
  };
}
