import { type Cursor, isAfter, isNews } from './cursor.ts';
import type { LogEnd, Position } from './ports.ts';

interface Reader {
  /** The last position that it has read. */
  readonly position: Position;
  /** Whether this end of the log has news for the reader. */
  readonly isNews: (end: LogEnd) => boolean;
  readonly interval: number;
  readonly wake: (isNews: boolean) => void;
}

/** The time between probes for the changes of other instances, and while only webhooks wait. */
const INTERVAL_MS = 40;
const WEBHOOKS_INTERVAL_MS = 250;

/** A webhook reads without news after this time. */
const WEBHOOKS_WAIT_MS = 60_000;

/** The time from a wake-up to the next probe, so that frequent changes are read together. */
const PAUSE_MS_MIN = 50;

/**
 * Wakes readers when the log of changes has grown. All readers share one probe, which runs only for them.
 *
 * @param probe resolves to the end of the log, or to undefined if it cannot be read now
 */
export function changeWatch(probe: () => Promise<LogEnd | undefined>) {
  const readers = new Set<Reader>();
  /** A probe is outdated once something was announced after it began. */
  let phase: 'resting' | 'probing' | 'outdated' | 'stopped' = 'resting';
  let timer: NodeJS.Timeout | undefined;
  /** When the next probe may begin, as performance.now() counts. */
  let pauseEnd = 0;
  /** The end of the log that was read last. A reader that is behind it need not wait. */
  let lastEnd: LogEnd | undefined;

  /** Schedules a probe after this time, in place of the one that is scheduled. */
  function schedule(milliseconds: number): void {
    if (readers.size === 0 || phase !== 'resting') return;
    clearTimeout(timer);
    timer = setTimeout(runProbe, Math.max(milliseconds, pauseEnd - performance.now()));
  }

  async function runProbe(): Promise<void> {
    phase = 'probing';
    wakeReady(await probe());
  }

  function wakeReady(end: LogEnd | undefined): void {
    if (phase === 'stopped') return;
    const isOutdated = phase === 'outdated';
    phase = 'resting';
    if (end !== undefined) lastEnd = end;
    let next = WEBHOOKS_INTERVAL_MS;
    for (const { isNews, interval, wake } of readers) {
      if (end !== undefined && isNews(end)) {
        pauseEnd = performance.now() + PAUSE_MS_MIN;
        wake(true);
      } else next = Math.min(next, interval);
    }
    schedule(isOutdated ? 0 : next);
  }

  /** @returns true if there is news; false if the time is over or something else ends the wait */
  function wait(reader: Omit<Reader, 'wake'>, milliseconds: number, signal: AbortSignal): Promise<boolean> {
    if (phase === 'stopped' || milliseconds <= 0 || signal.aborted) return Promise.resolve(false);
    if (lastEnd !== undefined && isAfter(lastEnd.position, reader.position)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter = { ...reader, wake };
      const timeout = setTimeout(wake, milliseconds, false);
      const abort = () => wake(false);
      signal.addEventListener('abort', abort);
      function wake(isNews: boolean): void {
        clearTimeout(timeout);
        signal.removeEventListener('abort', abort);
        readers.delete(waiter);
        resolve(isNews);
      }
      readers.add(waiter);
      schedule(0);
    });
  }

  return {
    /**
     * Must be called with each end of the log that is read, since the log may have been set back. A later end is ignored:
     * readers would wake each other without a pause.
     */
    note(end: LogEnd): void {
      if (lastEnd?.epoch !== end.epoch || isAfter(lastEnd.position, end.position)) lastEnd = end;
    },
    /**
     * Waits until the cursor is behind the end of the log or has expired.
     *
     * @returns true then; false if the time is over or something else ends the wait
     */
    wait(cursor: Cursor, milliseconds: number, signal: AbortSignal): Promise<boolean> {
      const reader = { position: cursor.position, isNews: (end: LogEnd) => isNews(cursor, end), interval: INTERVAL_MS };
      return wait(reader, milliseconds, signal);
    },
    /** As `ChangeLog.awaitEntries`, whose positions belong to no epoch. */
    async awaitEntries(position: Position, signal: AbortSignal): Promise<void> {
      const isBehind = (end: LogEnd) => isAfter(end.position, position);
      await wait({ position, isNews: isBehind, interval: WEBHOOKS_INTERVAL_MS }, WEBHOOKS_WAIT_MS, signal);
    },
    /** Probes at once, since something was written. */
    announce(): void {
      if (phase === 'probing') phase = 'outdated';
      schedule(0);
    },
    /** Ends all waits, and begins no more. */
    stop(): void {
      phase = 'stopped';
      clearTimeout(timer);
      for (const { wake } of readers) wake(false);
    },
  };
}
