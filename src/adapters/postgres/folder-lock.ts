import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Takes a folder for this process alone, until the returned function is called or the process ends in any way: the
 * kernel frees the lock, which SQLite holds on the file `lock` in the folder. A file with a process id could not do
 * that, and process ids repeat in containers.
 *
 * @throws Error, saying what to do, if another process holds it.
 */
export function lockFolder(folder: string): () => void {
  const lock = new DatabaseSync(join(folder, 'lock'), { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
    throw new Error(`${folder} is in use by another process: stop that one, or set DATA_DIR to another folder`);
  }
  return () => lock.close();
}

/** https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;
