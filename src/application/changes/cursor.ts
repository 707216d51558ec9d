import { PlantStoreError } from '../../domain/errors.ts';
import { MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import type { LogEnd, Position } from './ports.ts';

/** What a consumer sends to continue reading. */
export interface Cursor {
  /** Identifies the positions' table and its history of transactions, by 16 hexadecimal digits each. */
  readonly epoch: string;
  readonly position: Position;
  /** The last position that had been purged when the consumer began to read. */
  readonly purged: Position;
}

/** Before every row. */
export const START: Position = { changed: 0n, id: MIN_INT64 };

/** Whether position `a` comes after position `b`. */
export function isAfter(a: Position, b: Position): boolean {
  return a.changed > b.changed || (a.changed === b.changed && a.id > b.id);
}

/** Whether there are changes between the cursor and this end of the log, or the cursor has expired. */
export function isNews(cursor: Cursor, end: LogEnd): boolean {
  return expiryOf(cursor, end) !== undefined || isAfter(end.position, cursor.position);
}

/** Why changes after the cursor may be missing, in words; undefined if none can be. */
function expiryOf({ epoch, position, purged }: Cursor, now: LogEnd): string | undefined {
  const isHere = epoch === now.epoch && position.changed < now.next;
  if (!isHere) return 'the database is another one, was restored, or has another primary';
  const isPurged = isAfter(now.purged, position) && isAfter(now.purged, purged);
  return isPurged ? 'deletions after it have been purged' : undefined;
}

/**
 * The cursor from which a consumer continues.
 *
 * @param cursor its current one; undefined at the beginning
 * @param last the last position that it has read since; undefined if it has read nothing
 * @throws PlantStoreError `cursor_expired`
 */
export function nextCursor(cursor: Cursor | undefined, now: LogEnd, last: Position | undefined): Cursor {
  const expiry = cursor && expiryOf(cursor, now);
  if (expiry !== undefined) throw new PlantStoreError('cursor_expired', expiry);
  const { position, purged } = cursor ?? { position: START, purged: now.purged };
  return { epoch: now.epoch, position: last ?? position, purged };
}

/** Encodes a cursor in characters that neither a URL nor JSON escapes. */
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
  // Base64 decoders are lenient, but a cursor has one spelling.
  if (numbers.length < 4 || plain.toString('base64url') !== text) throw new PlantStoreError('unknown_position');
  const [changed, id, purgedChanged, purgedId] = numbers as [bigint, bigint, bigint, bigint];
  return { epoch, position: { changed, id }, purged: { changed: purgedChanged, id: purgedId } };
}
