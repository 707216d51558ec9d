import { PlantStoreError } from '../../domain/errors.ts';
import { MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';

/** A place in the feed of changes: just after the row with this transaction and this id. */
export interface Position {
  readonly changed: bigint;
  readonly id: bigint;
}

/** What a consumer sends back to go on. */
export interface Cursor {
  /** Identifies the history of transactions that the positions belong to: hexadecimal digits. */
  readonly epoch: string;
  readonly position: Position;
  /** The last position that had been purged when its walk began. */
  readonly purged: Position;
}

/** The feed as one snapshot shows it. */
export interface FeedState {
  readonly epoch: string;
  /** The last position that has been purged. */
  readonly purged: Position;
  /** The next transaction of the server. */
  readonly next: bigint;
}

/** The same, with the position of its last row. */
export interface FeedEnd extends FeedState {
  readonly position: Position;
}

/** Before every row. */
export const START: Position = { changed: 0n, id: MIN_INT64 };

/** Behind every row. */
export const LAST: Position = { changed: MAX_INT64, id: MAX_INT64 };

function isAfter(a: Position, b: Position): boolean {
  return a.changed > b.changed || (a.changed === b.changed && a.id > b.id);
}

/** Whether there is something to read between the cursor and this end of the feed. */
export function isBehind(cursor: Cursor, end: FeedEnd): boolean {
  return cursor.epoch === end.epoch && isAfter(end.position, cursor.position);
}

/**
 * Whether something after the cursor may be missing: the history has changed, the server has not reached it, as after a
 * restore, or a deletion after it was purged.
 */
export function isExpired({ epoch, position, purged }: Cursor, now: FeedState): boolean {
  const isAhead = position.changed >= now.next;
  return epoch !== now.epoch || isAhead || (isAfter(now.purged, position) && isAfter(now.purged, purged));
}

/** Encodes a cursor in the letters that a URL and JSON take as they are. */
export function encodeCursor({ epoch, position, purged }: Cursor): string {
  const numbers = [position.changed, position.id, purged.changed, purged.id];
  return Buffer.from([epoch, ...numbers].join(':')).toString('base64url');
}

const CURSOR = /^([\da-f]{32}):(\d{1,19}):(-?\d{1,19}):(\d{1,19}):(-?\d{1,19})$/;

/** @throws PlantStoreError `invalid_plant` if it is not an encoded cursor */
export function decodeCursor(text: string): Cursor {
  const [, epoch = '', ...digits] = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
  const [changed, id, purgedChanged, purgedId] = digits.map(BigInt).filter((n) => n >= MIN_INT64 && n <= MAX_INT64);
  if (changed === undefined || id === undefined || purgedChanged === undefined || purgedId === undefined)
    throw invalid();
  const cursor = { epoch, position: { changed, id }, purged: { changed: purgedChanged, id: purgedId } };
  // Decoders are lenient; each cursor has one spelling.
  if (encodeCursor(cursor) !== text) throw invalid();
  return cursor;
}

function invalid(): PlantStoreError {
  return new PlantStoreError('invalid_plant', 'after must be the "next" of an earlier response of /changes');
}
