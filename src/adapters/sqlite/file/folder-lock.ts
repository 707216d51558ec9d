import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { failureOf } from './failures.ts';

/** The locked file. It is not named `lock`, so that nobody deletes it as a stale lock. */
export const LOCKED_FILE = 'lock.db';

/** How long to wait for a process that is only checking the lock (`isLocked`). */
const CHECK_MS_MAX = 100;

/**
 * Locks a folder for this process, until the returned function is called or the process ends in any way: SQLite locks a
 * file in it, and the kernel releases that lock. A PID file would remain, and process ids repeat in containers.
 *
 * No other code may open this file: closing it releases its POSIX lock.
 *
 * @throws Error, saying what to do, if another process has locked it, or the file cannot be locked
 */
export function lockFolder(folder: string): () => void {
  const file = join(folder, LOCKED_FILE);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: CHECK_MS_MAX });
    // The write proves that the lock is exclusive: on a read-only file SQLite takes a shared one without an error. It
    // is never committed, and with its journal in memory nothing reaches the disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1');
    return () => database?.close();
  } catch (error) {
    database?.close();
    const problem = failureOf(error).isBusy
      ? `another process has opened the database in ${folder}: stop that one`
      : `${folder} cannot be locked by its file ${LOCKED_FILE} (${(error as Error).message}): make that file empty, and this user its owner`;
    throw new Error(`${problem}, or set DATA_DIR to another folder`, { cause: error });
  }
}

/** Whether a process has locked a folder. False if this user may not check that. */
export function isLocked(folder: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(join(folder, LOCKED_FILE), { readOnly: true });
    database.exec('select * from sqlite_schema');
    return false;
  } catch (error) {
    return failureOf(error).isBusy;
  } finally {
    database?.close();
  }
}
