import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { FileError, failureOf } from './failures.ts';

/** The oldest supported SQLite: older ones may damage a file whose WAL is reset while another process writes. */
const SQLITE_VERSION_MIN = '3.51.3';

/**
 * Opens a file as every connection of this program must: each commit is synced, and SQLite makes no checkpoint of its own
 * except when the last connection closes. A locked file fails at once with SQLITE_BUSY.
 *
 * @param prepare if it throws, the connection is closed, except after a failed sync: to close it makes a checkpoint, which
 * would read pages that the disk may not have
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
export const PATIENCE_MS_MAX = 30_000;

/** The pause between two attempts. SQLite's own waits would delay signals. */
const PAUSE_MS = 10;

/**
 * Repeats work that did nothing because another process holds a lock, until the lock is free.
 *
 * @param stop ends the wait
 * @throws the last error of the work, or the reason of `stop`
 */
export async function onceFree<T>(work: () => T, stop?: AbortSignal): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS_MAX; ; ) {
    try {
      return work();
    } catch (error) {
      if (!failureOf(error).isBusy || performance.now() >= end) throw error;
      stop?.throwIfAborted();
    }
    await delay(PAUSE_MS);
  }
}

/** More combining marks in a row than any script uses (UAX 15 section 13). To normalize n of them takes time n². */
const MANY_MARKS = /\p{M}{31}/u;

/**
 * Folds a text for a search: case and composition make no difference, except among too many marks. `toLowerCase` changes a
 * sigma at the end of a word into another letter, so that a text would not be found in a longer word.
 */
function folded(text: string): string {
  const lower = text.toLowerCase().replaceAll('ς', 'σ');
  return MANY_MARKS.test(lower) ? lower : lower.normalize('NFC');
}
