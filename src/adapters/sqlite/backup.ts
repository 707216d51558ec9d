import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { withDatabaseFile } from './command-file.ts';
import { syncPath } from './file/disk.ts';
import { FileError, failureOf } from './file/failures.ts';
import { NEW_IDENTITY } from './file/schema.ts';

/**
 * Writes a consistent copy of the database in a folder, also while the service runs. The copy has a feed identity of its own:
 * restored, it gives numbers out again that followers have seen.
 *
 * @throws FileError, saying what to do, if the target exists, or the copy cannot be made
 */
export async function backUp(dataDir: string, target: string): Promise<void> {
  if (existsSync(target)) throw new FileError(`${target} exists: name a file that does not`);
  // SQLite would take a relative name that begins with file: for a URI.
  const unfinished = resolve(`${target}.unfinished`);
  try {
    // SQLite accepts an empty file, which only this user may read.
    closeSync(openSync(unfinished, 'wx', 0o600));
    await withDatabaseFile(dataDir, true, async ({ sql }) => {
      try {
        copyDatabase(sql, unfinished);
      } catch (error) {
        // Otherwise it would be that of the database.
        if (failureOf(error).isDiskFull) throw new FileError(`${target} cannot be written: its disk or quota is full`);
        throw error;
      }
    });
    syncPath(unfinished);
    renameSync(unfinished, target);
    syncPath(dirname(resolve(target)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new FileError(`${unfinished} exists: another backup is writing it; delete it if none is running`);
    }
    rmSync(unfinished, { force: true });
    throw error instanceof FileError
      ? error
      : new FileError(`${target} cannot be written (${(error as Error).message})`);
  }
}

/** Copies an open database into an empty one. */
function copyDatabase(sql: DatabaseSync, target: string): void {
  sql.prepare('vacuum into ?').run(target);
  const copy = new DatabaseSync(target);
  try {
    copy.exec(`update change_feed set store = ${NEW_IDENTITY}`);
  } finally {
    copy.close();
  }
}
