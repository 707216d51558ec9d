import { PlantStoreError } from '../../domain/errors.ts';
import { MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import type { Position } from '../ports.ts';
import type { LogEnd, LogState } from './ports.ts';

/** What a consumer sends back to go on. */
export interface Cursor {
  /** The table and the history of transactions that the positions belong to: 16 hexadecimal digits of each. */
  readonly epoch: string;
  readonly position: Position;
  /** The last position that had been purged when its walk began. */
  readonly purged: Position;
}

/** Before every row. */
export const START: Position = { changed: 0n, id: MIN_INT64 };

function purgedIn({ purged_changed, purged_id }: LogState): Position {
  return { changed: purged_changed, id: purged_id };
}

/** Whether a place comes after another one. */
export function isAfter(a: Position, b: Position): boolean {
  return a.changed > b.changed || (a.changed === b.changed && a.id > b.id);
}

/** Whether there is something to read between the cursor and this end of the feed, or the cursor is not valid any more. */
export function isNews(cursor: Cursor, end: LogEnd): boolean {
  return expiryOf(cursor, end) !== undefined || isAfter(end.position, cursor.position);
}

/** Why something after the cursor may be missing, in words; undefined if nothing is. */
function expiryOf({ epoch, position, purged }: Cursor, now: LogState): string | undefined {
  const isHere = epoch === now.epoch && position.changed < now.next;
  if (!isHere) return 'the database is another one, was restored, or has another primary';
  const last = purgedIn(now);
  return isAfter(last, position) && isAfter(last, purged) ? 'a later deletion was purged' : undefined;
}

/**
 * Where a consumer goes on.
 *
 * @param cursor where it was; undefined at the beginning
 * @param last the last position that it has read since; undefined if there was nothing
 * @throws PlantStoreError `cursor_expired`
 */
export function nextCursor(cursor: Cursor | undefined, now: LogState, last: Position | undefined): Cursor {
  const expiry = cursor && expiryOf(cursor, now);
  if (expiry !== undefined) throw new PlantStoreError('cursor_expired', expiry);
  const { position, purged } = cursor ?? { position: START, purged: purgedIn(now) };
  return { epoch: now.epoch, position: last ?? position, purged };
}

/** Encodes a cursor in the letters that a URL and JSON take as they are. */
export function encodeCursor({ epoch, position, purged }: Cursor): string {
  const numbers = [position.changed, position.id, purged.changed, purged.id];
  return Buffer.from([epoch, ...numbers].join(':')).toString('base64url');
}

const CURSOR = /^([\da-f]{32}):(\d{1,19}):(-?\d{1,19}):(\d{1,19}):(-?\d{1,19})$/;

/** @throws PlantStoreError `unknown_position` if it is not an encoded cursor */
export function decodeCursor(text: string): Cursor {
  const plain = Buffer.from(text, 'base64url');
  const [, epoch = '', ...digits] = CURSOR.exec(plain.toString('latin1')) ?? [];
  const numbers = digits.map(BigInt).filter((n) => n >= MIN_INT64 && n <= MAX_INT64);
  // Decoders are lenient; each cursor has one spelling.
  if (numbers.length < 4 || plain.toString('base64url') !== text) throw new PlantStoreError('unknown_position');
  const [changed, id, purgedChanged, purgedId] = numbers as [bigint, bigint, bigint, bigint];
  return { epoch, position: { changed, id }, purged: { changed: purgedChanged, id: purgedId } };
}
