import { closeSync, existsSync, mkdirSync, openSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { withDatabaseFile } from './command-file.ts';
import { FILE } from './file/database-file.ts';
import { syncPath } from './file/disk.ts';
import { FileError, failureOf } from './file/failures.ts';
import { LOCKED_FILE, lockFolder } from './file/folder-lock.ts';
import { onceFree } from './file/once-free.ts';
import { RENEW_LOG } from './file/schema.ts';

/**
 * Writes a consistent copy of the database in a folder, also while the service runs. The copy has a feed identity of its own:
 * restored, it gives numbers out again that followers have seen.
 *
 * @throws FileError, saying what to do, if the target exists, or the copy cannot be made
 */
export async function backUp(dataDir: string, target: string): Promise<void> {
  requireFree(target);
  const folder = resolve(`${target}.unfinished`);
  try {
    // What a backup has left that was interrupted is there, and its lock has ended with it.
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const unlock = lockFolder(folder, 'wait for the end of that backup');
    try {
      requireFree(target);
      await copyInto(folder, dataDir, target);
    } finally {
      for (const name of [FILE, `${FILE}-journal`, LOCKED_FILE]) rmSync(join(folder, name), { force: true });
      unlock();
      // Files of others may have been there before.
      if (readdirSync(folder).length === 0) rmdirSync(folder);
    }
    syncPath(dirname(resolve(target)));
  } catch (error) {
    throw error instanceof FileError
      ? error
      : new FileError(`${target} cannot be written (${(error as Error).message})`);
  }
}

function requireFree(target: string): void {
  if (existsSync(target)) throw new FileError(`${target} exists: name a file that does not`);
}

async function copyInto(folder: string, dataDir: string, target: string): Promise<void> {
  const path = join(folder, FILE);
  // SQLite accepts an empty file, which only this user may read.
  closeSync(openSync(path, 'w', 0o600));
  await withDatabaseFile(dataDir, true, async ({ sql }) => {
    try {
      await onceFree(() => copyDatabase(sql, path));
    } catch (error) {
      // Otherwise it would be that of the database.
      if (failureOf(error).isDiskFull) throw new FileError(`${target} cannot be written: its disk or quota is full`);
      throw error;
    }
  });
  syncPath(path);
  renameSync(path, target);
}

/** Copies an open database into an empty one. */
export function copyDatabase(sql: DatabaseSync, target: string): void {
  sql.prepare('vacuum into ?').run(target);
  const copy = new DatabaseSync(target);
  try {
    copy.exec(RENEW_LOG);
  } finally {
    copy.close();
  }
}
