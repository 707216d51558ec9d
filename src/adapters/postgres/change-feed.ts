import type { CompiledQuery } from 'kysely';
import type { Changes, ChangesQuery } from '../../application/ports.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import {
  type Cursor,
  decodeCursor,
  encodeCursor,
  type FeedState,
  isExpired,
  LAST,
  type Position,
  START,
} from './change-cursor.ts';
import { NO_STATE, requireChangeFeed } from './change-feed-check.ts';
import { changesLag } from './change-lag.ts';
import { type StateRow, selectChanges, selectEnd } from './change-statements.ts';
import { changeWatch } from './change-watch.ts';
import type { IsDistributed } from './citus.ts';
import type { Database } from './database.ts';
import { SchemaError } from './errors.ts';
import { inGroups } from './in-groups.ts';
import { lastIdOf } from './plant-batch.ts';
import type { Int8 } from './plant-statements.ts';
import type { CallStore } from './store-call.ts';
import { turns } from './turns.ts';

/** Octets of text in one response, unless a single plant has more. */
const PAGE_TEXT = 1024 ** 2;

/** Readers that get a response in one turn of the event loop, which takes some milliseconds. */
const READERS_PER_TURN = 50;

/** The share of the connections that readers of changes may use at once. */
const SHARE = 0.3;

/** The table `plants` as a feed of changes: its rows in the order of the transactions that wrote them last. */
export function changeFeed(database: Database, callStore: CallStore, isDistributed: IsDistributed) {
  const inTurn = turns(Math.ceil(database.connections * SHARE));
  const rowsOf = async <T>(query: CompiledQuery<T>) => (await database.sql.executeQuery(query)).rows;
  let isChecked = false;

  async function requireFeed(): Promise<void> {
    if (isChecked) return;
    await requireChangeFeed(database, isDistributed);
    isChecked = true;
  }

  const watch = changeWatch(async () => {
    try {
      const [row] = await callStore(() => rowsOf(selectEnd()));
      return row && { ...stateOf(row), position: row.changed === null ? START : positionOf(row.changed, row.id ?? 0) };
    } catch {
      // While the database is unreachable nothing is new; readers learn of it when their time is over.
      return undefined;
    }
  });

  const inProgress = new Map<string, Promise<Changes>>();

  const myTurn = inGroups(READERS_PER_TURN);

  /** Readers that waited for the same part share a statement. */
  function shared(cursor: Cursor, until: Position, count: number): Promise<Changes> {
    const key = [count, encodeCursor(cursor), until.changed, until.id].join(' ');
    const running = inProgress.get(key) ?? read(cursor, until, count).finally(() => inProgress.delete(key));
    inProgress.set(key, running);
    return running;
  }

  function read(cursor: Cursor | undefined, until: Position, count: number): Promise<Changes> {
    const after = cursor?.position ?? START;
    return callStore((call) =>
      inTurn(async () => {
        await requireFeed();
        const [row] = await rowsOf(selectChanges(after, until, count, PAGE_TEXT));
        if (row === undefined) throw new SchemaError(NO_STATE);
        const state = stateOf(row);
        if (cursor !== undefined) requireValid(cursor, state);
        const lines = row.lines ?? '';
        const position = row.changed === null ? after : positionOf(row.changed, lastIdOf(lines) ?? 0);
        return { lines, next: encodeCursor({ ...state, ...cursor, position }) };
      }, call),
    );
  }

  async function readChanges({ after, limit, wait, signal }: ChangesQuery): Promise<Changes> {
    const end = performance.now() + wait;
    if (after === undefined || wait === 0) {
      // Not shared: a statement that has begun may not see what this client has just written.
      const changes = await read(after === undefined ? undefined : decodeCursor(after), LAST, limit);
      if (wait === 0 || changes.lines !== '') return changes;
      return readChanges({ after: changes.next, limit, wait, signal });
    }
    const cursor = decodeCursor(after);
    let until = watch.knownEnd(cursor);
    for (;;) {
      until ??= await watch.wait(cursor, end - performance.now(), signal);
      const changes = await shared(cursor, until?.position ?? LAST, limit);
      // One change may be for thousands of them.
      await myTurn();
      if (changes.lines !== '' || until === undefined) return changes;
      until = undefined;
    }
  }

  return {
    readChanges,
    announce: watch.announce,
    stopWaiting: watch.stop,
    lag: changesLag(database, callStore),
  };
}

/** @throws PlantStoreError `cursor_expired` */
function requireValid(cursor: Cursor, state: FeedState): void {
  if (!isExpired(cursor, state)) return;
  const isSame = cursor.epoch === state.epoch && cursor.position.changed < state.next;
  const reason = isSame ? 'a later deletion was purged' : 'the database is another one';
  throw new PlantStoreError(
    'cursor_expired',
    `"after" is not valid any more, since ${reason}: start again without it, and drop what the new walk does not bring`,
  );
}

function stateOf({ epoch, purged_changed, purged_id, next }: StateRow): FeedState {
  return { epoch, purged: positionOf(purged_changed, purged_id), next: BigInt(next) };
}

function positionOf(changed: Int8, id: Int8): Position {
  return { changed: BigInt(changed), id: BigInt(id) };
}
