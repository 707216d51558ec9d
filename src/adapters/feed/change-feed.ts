import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Change, ChangeFeed, Changes, ChangesQuery, Position } from '../../application/ports.ts';
import type { Entry, ReadEntries } from '../../application/webhooks/ports.ts';
import { MAX_INT64 } from '../../domain/plant.ts';
import { type Cursor, decodeCursor, encodeCursor, isAfter, nextCursor, START } from './change-cursor.ts';
import { changeWatch } from './change-watch.ts';
import type { FeedEnd, FeedReader } from './feed-reader.ts';
import { feedTimes } from './feed-times.ts';
import { heldBackTime, LONG } from './held-back.ts';
import { sharedRuns } from './shared-run.ts';

/** Readers that get a response in one iteration of the event loop, which takes some milliseconds. */
const READERS_PER_ITERATION = 50;

/** Behind every row. */
const LAST: Position = { changed: MAX_INT64, id: MAX_INT64 };

/** Rows of a page of a webhook. */
const ENTRIES = 200;

type Rows = Awaited<ReturnType<FeedReader['part']>>;

/** A part of the feed that readers may share. */
interface SharedPart extends Rows {
  readonly changes: readonly Change[];
  /** When its statement began, as performance.now() counts. */
  readonly began: number;
}

/**
 * The feed of changes, as its consumers and webhooks see it: the rows in the order in which they were written last.
 *
 * @param reader.partForWebhooks its `part`, perhaps in the background
 */
export function changeFeed(reader: FeedReader & { readonly partForWebhooks?: FeedReader['part'] }) {
  const times = feedTimes();
  const heldBack = heldBackTime(reader.holder);
  function noted<T extends FeedEnd>(end: T): T {
    times.note(end.position);
    heldBack.note(end);
    return end;
  }
  const notedPart =
    (read: FeedReader['part']): FeedReader['part'] =>
    async (...range) => {
      const part = await read(...range);
      noted(part.end);
      return part;
    };
  const feed = { part: notedPart(reader.part), end: async () => noted(await reader.end()) };
  const partForWebhooks = notedPart(reader.partForWebhooks ?? reader.part);

  const watch = changeWatch(async () => {
    try {
      return await feed.end();
    } catch {
      // While there is no feed, nothing is new. Readers learn that there is none when their time is over.
      return undefined;
    }
  });

  const sharedRead = sharedRuns<SharedPart>();
  const responseSlot = eventLoopSlots(READERS_PER_ITERATION);

  async function read(position: Position, limit: number, until = LAST): Promise<SharedPart> {
    const began = performance.now();
    const part = await feed.part(position, until, limit);
    return { ...part, changes: part.rows.map(changeOf), began };
  }

  /** Readers that waited for the same part share a statement. */
  function shared({ position }: Cursor, limit: number, until?: Position): Promise<SharedPart> {
    const key = [limit, position.changed, position.id, until?.changed, until?.id].join();
    return sharedRead(key, () => read(position, limit, until));
  }

  async function waitForChanges(from: Cursor, limit: number, end: number, signal: AbortSignal): Promise<Part> {
    const asked = performance.now();
    let cursor = from;
    let until = watch.knownEnd(cursor.position);
    for (;;) {
      until ??= await watch.wait(cursor, end - performance.now(), signal);
      let found = await shared(cursor, limit, until?.position);
      // What was the last change then may have been changed again since, and has left this part.
      if (found.rows.length === 0 && until !== undefined) found = await shared(cursor, limit);
      const part = partFor(cursor, found);
      // A change may wake thousands of readers.
      await responseSlot();
      // A statement that had begun may not see what this client has just written, and so not know that more is there.
      const atEnd = part.atEnd && found.began >= asked;
      if (part.changes.length > 0 || until === undefined) return { ...part, atEnd };
      until = undefined;
      cursor = part.next;
    }
  }

  async function readPage({ after, limit, wait, signal }: ChangesQuery): Promise<Changes> {
    if (after === 'now') {
      const end = await feed.end();
      return { changes: [], next: encodeCursor(nextCursor(undefined, end, end.position)), atEnd: true };
    }
    const deadline = performance.now() + wait;
    let cursor = after === undefined ? undefined : decodeCursor(after);
    if (cursor === undefined || wait === 0) {
      // Not shared: a statement that has begun may not see what this client has just written.
      const part = partFor(cursor, await read(cursor?.position ?? START, limit));
      if (part.changes.length > 0 || wait === 0) return { ...part, next: encodeCursor(part.next) };
      cursor = part.next;
    }
    const part = await waitForChanges(cursor, limit, deadline, signal);
    return { ...part, next: encodeCursor(part.next) };
  }

  const readChanges: ChangeFeed['readChanges'] = async (query) => {
    const page = await readPage(query);
    const seconds = await heldBack.seconds();
    return seconds > LONG ? { ...page, heldBackSeconds: Math.floor(seconds) } : page;
  };

  const sharedEntries = sharedRuns<Awaited<ReturnType<ReadEntries['readEntries']>>>();

  /** Endpoints at one position share a statement. */
  const readEntries: ReadEntries['readEntries'] = (after) =>
    sharedEntries(`${after.changed}/${after.id}`, async () => {
      const { end, rows } = await partForWebhooks(after, LAST, ENTRIES);
      return { epoch: end.epoch, entries: rows };
    });

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

/** A part of the feed, and where it goes on. */
interface Part extends Omit<Changes, 'next'> {
  readonly next: Cursor;
}

/** What a consumer at the cursor gets. @throws PlantStoreError `cursor_expired` */
function partFor(cursor: Cursor | undefined, { changes, rows, end }: SharedPart): Part {
  const last = rows.at(-1);
  const atEnd = !isAfter(end.position, last ?? cursor?.position ?? START);
  return { changes, next: nextCursor(cursor, end, last), atEnd };
}

function changeOf({ id, stored }: Entry): Change {
  return stored === 'deleted' ? { id, deleted: true } : stored;
}

/**
 * Spreads many callers over iterations of the event loop, so that others are served between them.
 *
 * @param perIteration how many go on in one iteration
 * @returns a function that resolves when it is the caller's turn: at once if there are few
 */
export function eventLoopSlots(perIteration: number): () => Promise<void> {
  let callers = 0;
  let slot = Promise.resolve();
  return () => {
    if (++callers % perIteration === 0) slot = slot.then(() => nextIteration());
    return slot;
  };
}
