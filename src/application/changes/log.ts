import type { NewPlant } from '../../domain/plant.ts';
import { decodeCursor, encodeCursor, isAfter, nextCursor, START } from './cursor.ts';
import { heldBackTime, LONG_SECONDS_MIN } from './held-back.ts';
import type { LogEnd, LogEntry, LogReader, Position, Progress } from './ports.ts';
import { logTimes } from './times.ts';
import { changeWatch } from './watch.ts';

/** Rows in a page for a webhook. */
const PAGE_ENTRIES_MAX = 200;

/** The newest state of a plant, or that it was deleted. */
export type Change = NewPlant | { readonly id: bigint; readonly deleted: true };

/** A part of the feed of changes. */
interface Changes {
  /** In the order of the feed. */
  readonly changes: readonly Change[];
  /** Where to continue. Opaque, without characters that a URL or JSON would escape. */
  readonly next: string;
  /** Whether nothing more can be read now: a consumer that began at the start has then seen every plant. */
  readonly atEnd: boolean;
  /** Seconds for which an open transaction has held back later rows; absent if that is short. */
  readonly heldBackSeconds?: number;
}

interface ChangesQuery {
  /** The `next` that the consumer read last; undefined to start at the beginning, `now` to start at the end. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Milliseconds to wait for a change if there is none. */
  readonly wait: number;
  /** Aborts when the result is no longer needed. */
  readonly signal: AbortSignal;
}

/** The log of changes, as its consumers and webhooks see it: the rows in the order in which they were last written. */
export interface ChangeLog {
  /**
   * Reads the newest state of up to `limit` plants that were created, changed or deleted after a position, in an order that
   * never changes. Without a position, it begins with the first change. Nothing is ever left out. Without news, it waits for
   * a change, and resolves to none at the end of `wait`, at the signal, or at shutdown.
   *
   * Rejects with PlantStoreError `unknown_position` if the position is not valid, `cursor_expired` if changes after it may be
   * missing, `changes_unavailable` if the store has no such order, `store_unavailable` if it cannot respond in time.
   */
  readChanges(query: ChangesQuery): Promise<Changes>;
  /**
   * Reads the newest states of some hundreds of plants that have changed after a position, each plant once, in the order of
   * the log. Only rows that no open transaction can precede any more are returned. Rejects with PlantStoreError
   * `store_unavailable` if the store cannot respond now.
   *
   * @returns the entries and the epoch of their positions
   */
  readEntries(after: Position): Promise<{ readonly epoch: string; readonly entries: readonly LogEntry[] }>;
  /** Resolves once there may be entries after a position, a minute later at the latest, or at the signal. */
  awaitEntries(after: Position, signal: AbortSignal): Promise<void>;
  /** Must be called after each write: readers who wait learn of it at once. */
  announce(): void;
  /** Ends all waits, and begins no more. */
  stopWaiting(): void;
  /** Seconds for which an open transaction has held back the log; may reject, or take long. */
  heldBack(): Promise<number>;
  /** As `logTimes` does. */
  trackEndpoint(progress: Progress): number;
}

export function changeLog(reader: LogReader): ChangeLog {
  const times = logTimes();
  const heldBack = heldBackTime(reader.holder);
  const watch = changeWatch(async () => {
    try {
      return observe(await reader.end());
    } catch {
      // Without a log there is no news. Readers learn why when they read after their wait.
      return undefined;
    }
  });

  function observe(end: LogEnd): LogEnd {
    times.note(end.position);
    heldBack.note(end);
    watch.note(end);
    return end;
  }

  async function readPage({ after, limit, wait, signal }: ChangesQuery): Promise<Changes> {
    if (after === 'now') {
      const end = observe(await reader.end());
      return { changes: [], next: encodeCursor(nextCursor(undefined, end, end.position)), atEnd: true };
    }
    const deadline = performance.now() + wait;
    for (let cursor = after === undefined ? undefined : decodeCursor(after); ; ) {
      const isNews = cursor === undefined || (await watch.wait(cursor, deadline - performance.now(), signal));
      const { rows, end } = await reader.page(cursor?.position ?? START, limit);
      const last = rows.at(-1);
      const atEnd = !isAfter(observe(end).position, last ?? cursor?.position ?? START);
      cursor = nextCursor(cursor, end, last);
      if (rows.length > 0 || !isNews) return { changes: rows.map(changeOf), next: encodeCursor(cursor), atEnd };
    }
  }

  const readChanges: ChangeLog['readChanges'] = async (query) => {
    const page = await readPage(query);
    const seconds = await heldBack.seconds();
    return seconds > LONG_SECONDS_MIN ? { ...page, heldBackSeconds: Math.floor(seconds) } : page;
  };

  const readEntries: ChangeLog['readEntries'] = async (after) => {
    const { end, rows } = await reader.page(after, PAGE_ENTRIES_MAX);
    return { epoch: observe(end).epoch, entries: rows };
  };

  return {
    readChanges,
    readEntries,
    awaitEntries: watch.awaitEntries,
    announce: watch.announce,
    stopWaiting: watch.stop,
    heldBack: heldBack.secondsNow,
    trackEndpoint: times.trackEndpoint,
  };
}

function changeOf({ id, stored }: LogEntry): Change {
  return stored === 'deleted' ? { id, deleted: true } : stored;
}
