import type { Change, Changes, ChangesQuery, PlantRepository } from '../ports.ts';
import type { EndpointState, LogEntry, ReadEntries } from '../webhooks/ports.ts';
import { decodeCursor, encodeCursor, isAfter, nextCursor, START } from './cursor.ts';
import { heldBackTime, LONG } from './held-back.ts';
import type { LogEnd, LogReader } from './ports.ts';
import { logTimes } from './times.ts';
import { changeWatch } from './watch.ts';

/** Rows in a page for a webhook. */
const PAGE_ENTRIES = 200;

export interface ChangeLog extends Pick<PlantRepository, 'readChanges'>, ReadEntries {
  /** To be called after each write: those who wait learn of it at once. */
  announce(): void;
  /** Ends all waits, and begins no more. */
  stopWaiting(): void;
  /** Seconds for which an open transaction has held back the log. */
  heldBack(): Promise<number>;
  /** Seconds for which the oldest plant that an endpoint has not acknowledged has waited, as this process has seen it. */
  waitingSeconds(state: EndpointState): number;
}

/** The log of changes, as its consumers and webhooks see it: the rows in the order in which they were last written. */
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

  const readChanges: PlantRepository['readChanges'] = async (query) => {
    const page = await readPage(query);
    const seconds = await heldBack.seconds();
    return seconds > LONG ? { ...page, heldBackSeconds: Math.floor(seconds) } : page;
  };

  const readEntries: ReadEntries['readEntries'] = async (after) => {
    const { end, rows } = await reader.page(after, PAGE_ENTRIES);
    return { epoch: observe(end).epoch, entries: rows };
  };

  return {
    readChanges,
    readEntries,
    awaitEntries: watch.awaitEntries,
    announce: watch.announce,
    stopWaiting: watch.stop,
    heldBack: heldBack.secondsNow,
    waitingSeconds: times.waitingSeconds,
  };
}

function changeOf({ id, stored }: LogEntry): Change {
  return stored === 'deleted' ? { id, deleted: true } : stored;
}
