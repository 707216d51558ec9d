import { PlantStoreError } from '../../../domain/errors.ts';
import { MAX_INT64, MIN_INT64 } from '../../../domain/plant.ts';

/** A place in the feed of changes: just after the row with this transaction and this id. */
export interface Position {
  readonly changed: bigint;
  readonly id: bigint;
}

/** What a consumer sends back to go on. */
export interface Cursor {
  /** The table and the history of transactions that the positions belong to: 16 hexadecimal digits of each. */
  readonly epoch: string;
  readonly position: Position;
  /** Of what its consumer has read, nothing comes from this transaction or a later one. */
  readonly seen: bigint;
  /** The last position that had been purged when its walk began. */
  readonly purged: Position;
}

/** The feed as one snapshot shows it: the columns of a statement. */
export interface FeedState {
  readonly epoch: string;
  /** The last position that has been purged. */
  readonly purged_changed: bigint;
  readonly purged_id: bigint;
  /** The next transaction of the server. */
  readonly next: bigint;
  /** What was seen before this transaction in the epoch of the cursor is here as well; null if that is not known. */
  readonly common: bigint | null;
}

/** The same, with the position of its last row. */
export interface FeedEnd extends FeedState {
  readonly position: Position;
}

/** Before every row. */
export const START: Position = { changed: 0n, id: MIN_INT64 };

/** Behind every row. */
export const LAST: Position = { changed: MAX_INT64, id: MAX_INT64 };

/** Of two columns; undefined if they are null. */
export function positionOf(changed: bigint | null, id: bigint | null): Position | undefined {
  return changed === null || id === null ? undefined : { changed, id };
}

function purgedIn({ purged_changed, purged_id }: FeedState): Position {
  return { changed: purged_changed, id: purged_id };
}

function isAfter(a: Position, b: Position): boolean {
  return a.changed > b.changed || (a.changed === b.changed && a.id > b.id);
}

/** Whether there is something to read between the cursor and this end of the feed. */
export function isBehind(cursor: Cursor, end: FeedEnd): boolean {
  return cursor.epoch === end.epoch && isAfter(end.position, cursor.position);
}

/** Why something after the cursor may be missing, in words; undefined if nothing is. */
export function expiryOf(cursor: Cursor, now: FeedState): string | undefined {
  if (!isInHistory(cursor, now)) return 'the database is another one, or has lost what was read';
  const purged = purgedIn(now);
  const isPurged = isAfter(purged, cursor.position) && isAfter(purged, cursor.purged);
  return isPurged ? 'a later deletion was purged' : undefined;
}

/** Whether all that the consumer has read has happened here: by the last record of its epoch, if that is over. */
function isInHistory({ epoch, position, seen }: Cursor, { epoch: current, next, common }: FeedState): boolean {
  if (epoch === current) return position.changed < next;
  return epoch.slice(0, 16) === current.slice(0, 16) && common !== null && seen <= common;
}

/**
 * Where a consumer goes on.
 *
 * @param cursor where it was; undefined at the beginning
 * @param last the last position that it has read since; undefined if there was nothing
 * @throws PlantStoreError `cursor_expired`
 */
export function nextCursor(cursor: Cursor | undefined, now: FeedState, last: Position | undefined): Cursor {
  const expiry = cursor && expiryOf(cursor, now);
  if (expiry !== undefined) {
    throw new PlantStoreError(
      'cursor_expired',
      `"after" is not valid any more, since ${expiry}: start again without it, and drop what the new walk does not bring`,
    );
  }
  const { epoch } = now;
  const { position, purged } = cursor ?? { position: START, purged: purgedIn(now) };
  // What was read in earlier epochs comes before every record of this one.
  const before = cursor?.epoch === epoch ? cursor.seen : 0n;
  if (last === undefined) return { epoch, position, purged, seen: before };
  // A statement that it shared with others may be older than what it has seen itself.
  return { epoch, position: last, purged, seen: before > now.next ? before : now.next };
}

/** Encodes a cursor in the letters that a URL and JSON take as they are. */
export function encodeCursor({ epoch, position, purged, seen }: Cursor): string {
  const numbers = [position.changed, position.id, purged.changed, purged.id, seen];
  return Buffer.from([epoch, ...numbers].join(':')).toString('base64url');
}

// One of an earlier version has no last number, and an epoch that is none here.
const CURSOR = /^([\da-f]{32}):(\d{1,19}):(-?\d{1,19}):(\d{1,19}):(-?\d{1,19})(?::(\d{1,19}))?$/;

/** @throws PlantStoreError `invalid_plant` if it is not an encoded cursor */
export function decodeCursor(text: string): Cursor {
  const plain = Buffer.from(text, 'base64url');
  const [, epoch = '', ...digits] = CURSOR.exec(plain.toString('latin1')) ?? [];
  const numbers = digits.map((one = '0') => BigInt(one)).filter((n) => n >= MIN_INT64 && n <= MAX_INT64);
  // Decoders are lenient; each cursor has one spelling.
  if (numbers.length < 5 || plain.toString('base64url') !== text) {
    throw new PlantStoreError('invalid_plant', 'after must be the "next" of an earlier response of /changes, or now');
  }
  const [changed, id, purgedChanged, purgedId, seen] = numbers as [bigint, bigint, bigint, bigint, bigint];
  return { epoch, position: { changed, id }, purged: { changed: purgedChanged, id: purgedId }, seen };
}
