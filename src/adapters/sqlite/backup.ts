import { closeSync, existsSync, mkdtempDisposableSync, openSync, renameSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { withDatabaseFile } from './command-file.ts';
import { FILE } from './file/database-file.ts';
import { syncPath } from './file/disk.ts';
import { FileError, failureOf } from './file/failures.ts';
import { RENEW_LOG } from './file/schema.ts';

/**
 * Writes a consistent copy of the database in a folder, even while the service runs. The copy has its own feed identity: once
 * restored, it reissues numbers that followers have already seen.
 *
 * @throws FileError, saying what to do, if the target exists, or the copy cannot be made
 */
export async function backUp(dataDir: string, target: string): Promise<void> {
  requireFree(target);
  try {
    // Each backup has its own folder: another backup may run, or may have been interrupted.
    const folder = mkdtempDisposableSync(resolve(`${target}.unfinished-`));
    try {
      const path = join(folder.path, FILE);
      // SQLite accepts an empty file, which only this user may read.
      closeSync(openSync(path, 'w', 0o600));
      await withDatabaseFile(dataDir, ({ sql, run }) => run('reads', async () => copyDatabase(sql, path)));
      syncPath(path);
      requireFree(target);
      renameSync(path, target);
    } finally {
      folder.remove();
    }
    syncPath(dirname(resolve(target)));
  } catch (error) {
    if (error instanceof FileError) throw error;
    throw new FileError(`${target} cannot be written (${(error as Error).message})`);
  }
}

function requireFree(target: string): void {
  if (existsSync(target)) throw new FileError(`${target} exists already: name another file`);
}

/** Copies an open database into an empty one. */
export function copyDatabase(sql: DatabaseSync, target: string): void {
  try {
    sql.prepare('vacuum into ?').run(target);
  } catch (error) {
    // The message about a full disk is about the disk of the database.
    if (!failureOf(error).isDiskFull) throw error;
    throw new FileError('the copy cannot be written: its disk or quota is full', { cause: error });
  }
  const copy = new DatabaseSync(target);
  try {
    copy.exec(RENEW_LOG);
  } finally {
    copy.close();
  }
}
