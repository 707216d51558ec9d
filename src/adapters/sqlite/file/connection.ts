import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { FileError, failureOf } from './failures.ts';

/** The oldest SQLite that serves: earlier ones have a defect that may damage a file whose WAL is reset while another process writes. */
const SQLITE_VERSION_MIN = '3.51.3';

/**
 * Opens a file as every connection of this program must: what is committed is synced, and SQLite makes no checkpoint of its
 * own but at the end of the last connection. Nothing waits for the lock of another process.
 *
 * @param prepare if it throws, the connection is closed, unless a sync has failed: SQLite's checkpoint at its end would take for
 * written what the disk may not have
 */
export function openConnection(path: string, prepare = (_: DatabaseSync) => {}): DatabaseSync {
  const { sqlite = '' } = process.versions;
  if (sqlite.localeCompare(SQLITE_VERSION_MIN, 'en', { numeric: true }) < 0) {
    throw new FileError(
      `this Node.js has SQLite ${sqlite}, and ${SQLITE_VERSION_MIN} is needed: install a newer Node.js 24`,
    );
  }
  const sql = new DatabaseSync(path, { readBigInts: true });
  try {
    sql.exec('pragma wal_autocheckpoint = 0; pragma synchronous = full; pragma temp_store = memory');
    sql.exec('pragma journal_mode = wal; pragma journal_size_limit = 16777216; pragma cache_size = -16000');
    sql.function('clock_time', () => BigInt(Date.now()));
    sql.function('folded', { deterministic: true }, (text) => folded(String(text)));
    prepare(sql);
    return sql;
  } catch (error) {
    if (!failureOf(error).isLostSync) sql.close();
    throw error;
  }
}

/** How long a start and a command wait for the lock of another process. */
export const PATIENCE_MS = 30_000;

/** The time until they try again. SQLite's own waits would keep signals from acting. */
const PAUSE_MS = 10;

/**
 * Repeats work that has done nothing because another process holds a lock, until that is free.
 *
 * @param stop ends the wait
 * @throws what the work has thrown last, or the reason of `stop`
 */
export async function onceFree<T>(work: () => T, stop?: AbortSignal): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS; ; ) {
    try {
      return work();
    } catch (error) {
      if (!failureOf(error).isBusy || performance.now() >= end) throw error;
      stop?.throwIfAborted();
    }
    await delay(PAUSE_MS);
  }
}

/** More marks behind each other than any writing has (UAX 15 section 13); the time to normalize them grows with their square. */
const MANY_MARKS = /\p{M}{31}/u;

/**
 * A text as a search compares it: letters in either case and composed in either way are the same, except among too many
 * marks. `toLowerCase` makes another letter of a sigma that ends a word, so that a text would not be found in a longer word.
 */
function folded(text: string): string {
  const lower = text.toLowerCase().replaceAll('ς', 'σ');
  return MANY_MARKS.test(lower) ? lower : lower.normalize('NFC');
}
