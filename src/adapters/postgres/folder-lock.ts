import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** What this version locks. It is not named for that, so that nobody deletes it as a lock that was left behind. */
export const LOCKED_FILE = 'plant-store.db';

/** What earlier versions lock, and nothing else. */
export const EARLIER_LOCKED_FILE = 'lock';

/**
 * Takes a folder for this process alone, until the returned function is called or the process ends in any way: the
 * kernel frees the locks, which SQLite holds on two files in the folder. A file with a process id could not do that, and
 * process ids repeat in containers.
 *
 * No other code may open these files: as POSIX has it, closing one of them would free its lock.
 *
 * @throws Error, saying what to do, if another process holds the folder, or if a file cannot be locked
 */
export function lockFolder(folder: string): () => void {
  // In this order: a process that is refused must not make the other file anew, if somebody has deleted it.
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
    // The write proves the lock: on a file that it may not write, SQLite takes a shared one and reports no error. It is
    // never committed, and with its journal in memory nothing reaches the disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1');
  } catch (error) {
    database?.close();
    const { errcode, message } = error as { errcode?: number; message: string };
    throw new Error(
      errcode === SQLITE_BUSY
        ? `${folder} is in use by another process: stop that one, or set DATA_DIR to another folder`
        : `${file} cannot be locked (${message}): it must be an empty file that this user can write; ` +
            'correct that, or set DATA_DIR to another folder',
      { cause: error },
    );
  }
  return () => database.close();
}

/** https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;
