import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The locked file, not named `lock`, so that nobody deletes it as a stale one. */
export const LOCKED_FILE = 'lock.db';

/** https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;

/** Milliseconds to wait for a process that is only checking the lock (`isLocked`). */
const LOOK = 100;

/**
 * Locks a folder for this process, until the returned function is called or the process ends in any way: SQLite locks a
 * file in it, and the kernel releases that lock. A PID file would remain, and process ids repeat in containers.
 *
 * No other code may open this file: closing it releases its POSIX lock.
 *
 * @param advice what to do if another process has locked the folder
 * @throws Error, saying what to do, if that is so, or the file cannot be locked
 */
export function lockFolder(folder: string, advice = 'stop that one, or set DATA_DIR to another folder'): () => void {
  const file = join(folder, LOCKED_FILE);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: LOOK });
    // The write proves that the lock is exclusive: on a read-only file SQLite takes a shared one without an error. It
    // is never committed, and with its journal in memory nothing reaches the disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1');
  } catch (error) {
    database?.close();
    const { errcode, message } = error as { errcode?: number; message: string };
    throw new Error(
      errcode === SQLITE_BUSY
        ? `${folder} is in use by another process: ${advice}`
        : `${file} cannot be locked (${message}): it must be an empty file that this user can write; ` +
            'fix that, or set DATA_DIR to another folder',
      { cause: error },
    );
  }
  return () => database.close();
}

/** Whether a process has locked a folder, as far as this one may know. */
export function isLocked(folder: string): boolean {
  try {
    const database = new DatabaseSync(join(folder, LOCKED_FILE), { readOnly: true });
    try {
      database.exec('select * from sqlite_schema');
    } finally {
      database.close();
    }
    return false;
  } catch (error) {
    return (error as { errcode?: number }).errcode === SQLITE_BUSY;
  }
}

/**
 * Remembers files by device and inode.
 *
 * @returns a function that returns the path of one that has been deleted or replaced since. It takes microseconds and is
 * synchronous, so that the next call finds the files as they were checked.
 */
export function lostFileCheck(paths: readonly string[]): () => string | undefined {
  const before = paths.map(identityOf);
  return () => paths.find((path, index) => identityOf(path) !== before[index]);
}

/** Undefined if the file does not exist or cannot be accessed. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
