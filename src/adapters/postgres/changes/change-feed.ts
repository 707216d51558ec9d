import type { CompiledQuery } from 'kysely';
import type { Changes, ChangesQuery, Position } from '../../../application/ports.ts';
import { semaphore } from '../calls/semaphore.ts';
import { sharedRuns } from '../calls/shared-run.ts';
import type { CallState, CallStore } from '../calls/store-call.ts';
import type { Database } from '../database.ts';
import { READ_TEXT } from '../plants/plant-columns.ts';
import { type Cursor, decodeCursor, encodeCursor, LAST, nextCursor, positionOf, START } from './change-cursor.ts';
import { type ChangesRow, type StateRow, selectChanges, selectEnd } from './change-statements.ts';
import { changeWatch } from './change-watch.ts';
import { eventLoopSlots } from './event-loop-slots.ts';
import { feedReader } from './feed-reader.ts';

/** Readers that get a response in one iteration of the event loop, which takes some milliseconds. */
const READERS_PER_ITERATION = 50;

/** The table `plants` as a feed of changes: its rows in the order of the transactions that wrote them last. */
export function changeFeed(database: Database, callStore: CallStore) {
  const feedStatement = semaphore(database, 'changes');
  const changesBetween = selectChanges(database.sql);
  const end = selectEnd(database.sql);
  const rowsOf = feedReader(database);

  const watch = changeWatch(async () => {
    try {
      const [row] = await callStore(() => rowsOf(end({})));
      return { ...row, position: positionOf(row.last_changed, row.last_id) ?? START };
    } catch {
      // While there is no feed, nothing is new. Readers learn that there is none when their time is over.
      return undefined;
    }
  });

  const sharedRead = sharedRuns<{ readonly row: ChangesRow; readonly began: number }>();
  const responseSlot = eventLoopSlots(READERS_PER_ITERATION);

  /** Readers that waited for the same part share a statement. @returns also when it began, as performance.now() counts */
  function shared({ position }: Cursor, until: Position, count: number) {
    const key = [count, position.changed, position.id, until.changed, until.id].join();
    // Each in a call of its own, so that nobody has the deadline of another.
    return callStore((call) =>
      sharedRead(key, async () => {
        const began = performance.now();
        return { row: await rowOf(partBetween(position, until, count), call), began };
      }),
    );
  }

  async function rowOf<Row extends StateRow>(query: CompiledQuery<Row>, call: CallState): Promise<Row> {
    const [row] = await feedStatement(() => rowsOf(query), call);
    return row;
  }

  const readRow = <Row extends StateRow>(query: CompiledQuery<Row>) => callStore((call) => rowOf(query, call));

  function partBetween({ changed, id }: Position, until: Position, count: number): CompiledQuery<ChangesRow> {
    const range = { afterChanged: changed, afterId: id, untilChanged: until.changed, untilId: until.id };
    return changesBetween({ ...range, count, room: READ_TEXT });
  }

  async function waitForChanges(from: Cursor, limit: number, end: number, signal: AbortSignal): Promise<Part> {
    const asked = performance.now();
    let cursor = from;
    let until = watch.knownEnd(cursor);
    for (;;) {
      until ??= await watch.wait(cursor, end - performance.now(), signal);
      let { row, began } = await shared(cursor, until?.position ?? LAST, limit);
      // What was the last change then may have been changed again since, and has left this part.
      if (row.changes === null && until !== undefined) ({ row, began } = await shared(cursor, LAST, limit));
      const part = partFor(cursor, row);
      // A change may wake thousands of readers.
      await responseSlot();
      // A statement that had begun may not see what this client has just written, and so not know that more is there.
      if (part.changes !== '' || until === undefined) return { ...part, atEnd: part.atEnd && began >= asked };
      until = undefined;
      cursor = part.next;
    }
  }

  /** Where the feed ends now: whatever is committed later comes after that. */
  async function endOfFeed(): Promise<Cursor> {
    const row = await readRow(end({}));
    return nextCursor(undefined, row, positionOf(row.last_changed, row.last_id) ?? START);
  }

  async function readChanges({ after, limit, wait, signal }: ChangesQuery): Promise<Changes> {
    if (after === 'now') return { changes: '', next: encodeCursor(await endOfFeed()), atEnd: true };
    const deadline = performance.now() + wait;
    let cursor = after === undefined ? undefined : decodeCursor(after);
    if (cursor === undefined || wait === 0) {
      // Not shared: a statement that has begun may not see what this client has just written.
      const part = partFor(cursor, await readRow(partBetween(cursor?.position ?? START, LAST, limit)));
      if (part.changes !== '' || wait === 0) return { ...part, next: encodeCursor(part.next) };
      cursor = part.next;
    }
    const part = await waitForChanges(cursor, limit, deadline, signal);
    return { ...part, next: encodeCursor(part.next) };
  }

  return {
    readChanges,
    awaitEntries: watch.awaitEntries,
    announce: watch.announce,
    stopWaiting: watch.stop,
  };
}

/** A part of the feed, and where it goes on. */
interface Part extends Omit<Changes, 'next'> {
  readonly next: Cursor;
}

/** What a consumer at the cursor gets. @throws PlantStoreError `cursor_expired` */
function partFor(cursor: Cursor | undefined, row: ChangesRow): Part {
  const last = positionOf(row.last_changed, row.last_id);
  return { changes: row.changes ?? '', next: nextCursor(cursor, row, last), atEnd: row.at_end };
}
