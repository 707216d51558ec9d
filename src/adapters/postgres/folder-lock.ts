import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The locked file, not named `lock`, so that nobody deletes it as a stale one. */
export const LOCKED_FILE = 'plant-store.db';

/** The only file that earlier versions lock. */
export const EARLIER_LOCKED_FILE = 'lock';

/**
 * Locks a folder for this process, until the returned function is called or the process ends in any way: SQLite locks
 * two files in it, and the kernel releases those locks. A PID file would remain, and process ids repeat in containers.
 *
 * No other code may open these files: closing one releases its POSIX lock.
 *
 * @throws Error, saying what to do, if another process has locked the folder, or if a file cannot be locked
 */
export function lockFolder(folder: string): () => void {
  // In this order: a refused process must not recreate the second file if someone has deleted it.
  const unlock = lockFile(folder, LOCKED_FILE);
  try {
    const unlockEarlier = lockFile(folder, EARLIER_LOCKED_FILE);
    return () => {
      unlockEarlier();
      unlock();
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

function lockFile(folder: string, name: string): () => void {
  const file = join(folder, name);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: 0 });
    // The write proves that the lock is exclusive: on a read-only file SQLite takes a shared one without an error. It
    // is never committed, and with its journal in memory nothing reaches the disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1');
  } catch (error) {
    database?.close();
    const { errcode, message } = error as { errcode?: number; message: string };
    throw new Error(
      errcode === SQLITE_BUSY
        ? `${folder} is in use by another process: stop that one, or set DATA_DIR to another folder`
        : `${file} cannot be locked (${message}): it must be an empty file that this user can write; ` +
            'fix that, or set DATA_DIR to another folder',
      { cause: error },
    );
  }
  return () => database.close();
}

/** https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;
