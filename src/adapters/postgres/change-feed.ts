import type { CompiledQuery } from 'kysely';
import type { Changes, ReadChanges } from '../../application/ports.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { type Cursor, decodeCursor, encodeCursor, isAfter, type Position, START } from './change-cursor.ts';
import {
  type ChangeRow,
  selectChanges,
  selectCitus,
  selectDistributed,
  selectHead,
  selectOldest,
  selectUnrepaired,
} from './change-statements.ts';
import { changeWatch } from './change-watch.ts';
import type { Database } from './database.ts';
import { SchemaError } from './errors.ts';
import { lastIdOf } from './plant-batch.ts';
import type { Int8 } from './plant-statements.ts';
import type { CallStore } from './store-call.ts';
import { turns } from './turns.ts';

/** Octets of text in one response, unless a single plant has more. */
const PAGE_TEXT = 1024 ** 2;

/** The share of the connections that readers of changes may use at once. */
const SHARE = 0.3;

/** The table `plants` as a feed of changes: its rows in the order of the transactions that wrote them last. */
export function changeFeed(database: Database, callStore: CallStore) {
  const inTurn = turns(Math.ceil(database.connections * SHARE));
  const rowsOf = async <T>(query: CompiledQuery<T>) => (await database.sql.executeQuery(query)).rows;
  let isChecked = false;

  async function requireFeed(): Promise<void> {
    if (isChecked) return;
    await requireChangeFeed(database);
    isChecked = true;
  }

  const inProgress = new Map<string, Promise<Changes>>();

  /** Readers at the same position share a statement, as all do that were waiting. */
  async function shared(after: string | undefined, count: number): Promise<Changes> {
    const key = `${count} ${after ?? ''}`;
    const running = inProgress.get(key) ?? read(after, count).finally(() => inProgress.delete(key));
    inProgress.set(key, running);
    return running;
  }

  async function read(after: string | undefined, count: number): Promise<Changes> {
    const cursor = after === undefined ? undefined : decodeCursor(after);
    const position = cursor?.position ?? START;
    return callStore((call) =>
      inTurn(async () => {
        await requireFeed();
        const [row] = await rowsOf(selectChanges(position, count, PAGE_TEXT));
        if (row === undefined) throw new SchemaError('the table change_feed has no row: run npm run migrate');
        const { epoch, purged_changed, purged_id, changed, lines } = row;
        const purged = cursor?.purged ?? positionOf(purged_changed, purged_id);
        if (cursor !== undefined) requireValid(cursor, row);
        const last = changed === null ? position : { changed: BigInt(changed), id: lastIdOf(lines ?? '') ?? 0n };
        return { lines: lines ?? '', next: encodeCursor({ epoch, position: last, purged }) };
      }, call),
    );
  }

  const watch = changeWatch(async () => {
    const [head] = await callStore(() => rowsOf(selectHead()));
    return head === undefined ? START : positionOf(head.changed, head.id);
  });

  /** Since when the oldest open transaction has been the oldest, as performance.now() counts. */
  let oldest = { id: '', since: 0 };

  const feed: ReadChanges = {
    readChanges: shared,
    awaitChanges: (after, milliseconds, signal) => watch.wait(decodeCursor(after).position, milliseconds, signal),
  };
  return {
    ...feed,
    announce: watch.announce,
    stopWaiting: watch.stop,
    /** Seconds for which a transaction that is still open has held back the feed, as far as calls of this show. */
    async lag(): Promise<number> {
      const [row] = await callStore(() => rowsOf(selectOldest()));
      const now = performance.now();
      if (row === undefined || !row.is_behind) oldest = { id: '', since: now };
      else if (row.oldest !== oldest.id) oldest = { id: row.oldest, since: now };
      return (now - oldest.since) / 1_000;
    },
  };
}

/**
 * Checks that the table can be read in the order of its changes.
 *
 * @throws PlantStoreError `changes_unavailable`, or SchemaError, saying what to do
 */
export async function requireChangeFeed({ sql }: Database): Promise<void> {
  const isThere = async (query: CompiledQuery) => (await sql.executeQuery(query)).rows.length > 0;
  if ((await isThere(selectCitus())) && (await isThere(selectDistributed()))) {
    throw new PlantStoreError('changes_unavailable', 'there is no feed of changes: the table is distributed by Citus');
  }
  if (await isThere(selectUnrepaired())) {
    throw new SchemaError('the plants come from another server, whose transactions were ahead: run npm run migrate');
  }
}

/** @throws PlantStoreError `cursor_expired` */
function requireValid({ epoch, position, purged }: Cursor, now: ChangeRow): void {
  const purgedNow = positionOf(now.purged_changed, now.purged_id);
  const isPurged = isAfter(purgedNow, position) && isAfter(purgedNow, purged);
  if (epoch === now.epoch && !now.is_ahead && !isPurged) return;
  const reason = isPurged ? 'deleted plants after it were purged' : 'the database has changed servers';
  throw new PlantStoreError(
    'cursor_expired',
    `"after" is not valid any more, since ${reason}: start again without it, and drop what the new walk does not bring`,
  );
}

function positionOf(changed: Int8, id: Int8): Position {
  return { changed: BigInt(changed), id: BigInt(id) };
}
