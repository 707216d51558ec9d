import type { Change, Changes, ChangesQuery, PlantRepository } from '../ports.ts';
import type { Entry, ReadEntries } from '../webhooks/ports.ts';
import { decodeCursor, encodeCursor, isAfter, nextCursor, START } from './cursor.ts';
import { heldBackTime, LONG } from './held-back.ts';
import type { LogEnd, LogReader } from './ports.ts';
import { logTimes } from './times.ts';
import { changeWatch } from './watch.ts';

/** Rows in a page for a webhook. */
const ENTRIES = 200;

/**
 * The feed of changes, as its consumers and webhooks see it: the rows in the order in which they were last written.
 *
 * @param reader.partForWebhooks like `part`, but may run in the background
 */
export function changeLog(reader: LogReader & { readonly partForWebhooks?: LogReader['part'] }) {
  const times = logTimes();
  const heldBack = heldBackTime(reader.holder);
  const watch = changeWatch(async () => {
    try {
      return noted(await reader.end());
    } catch {
      // Without a feed there is no news. Readers learn why when they read after their wait.
      return undefined;
    }
  });

  function noted<T extends LogEnd>(end: T): T {
    times.note(end.position);
    heldBack.note(end);
    watch.note(end);
    return end;
  }

  async function readPage({ after, limit, wait, signal }: ChangesQuery): Promise<Changes> {
    if (after === 'now') {
      const end = noted(await reader.end());
      return { changes: [], next: encodeCursor(nextCursor(undefined, end, end.position)), atEnd: true };
    }
    const deadline = performance.now() + wait;
    for (let cursor = after === undefined ? undefined : decodeCursor(after); ; ) {
      const isNews = cursor === undefined || (await watch.wait(cursor, deadline - performance.now(), signal));
      const { rows, end } = await reader.part(cursor?.position ?? START, limit);
      const last = rows.at(-1);
      const atEnd = !isAfter(noted(end).position, last ?? cursor?.position ?? START);
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
    const { end, rows } = await (reader.partForWebhooks ?? reader.part)(after, ENTRIES);
    return { epoch: noted(end).epoch, entries: rows };
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

function changeOf({ id, stored }: Entry): Change {
  return stored === 'deleted' ? { id, deleted: true } : stored;
}
