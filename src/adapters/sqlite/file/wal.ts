import { fsyncSync, readSync, statSync, writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { withOpen } from './disk.ts';
import { FileError } from './failures.ts';

const CHUNK_BYTES = 64 * 1024;

/**
 * Writes the kernel's copy of the WAL to the disk: after a failed sync, the kernel takes for written what the disk lacks. A
 * checkpoint would write such pages into the file, and a power loss could leave some of them without the WAL to complete them.
 * It must be called before the first checkpoint of a process, while no service runs.
 */
export function rewriteWal(sql: DatabaseSync, path: string): void {
  // Other processes can only read it meanwhile.
  sql.exec('begin immediate');
  try {
    withOpen(`${path}-wal`, 'r+', (wal) => {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (let at = 0, length = 0; ; at += length) {
        length = readSync(wal, chunk, 0, CHUNK_BYTES, at);
        if (length === 0) break;
        writeSync(wal, chunk, 0, length, at);
      }
      fsyncSync(wal);
    });
  } finally {
    sql.exec('rollback');
  }
}

/**
 * Whether there is a database. If its file is missing or empty, SQLite would create one in it, and delete its WAL.
 *
 * @throws FileError if there is a WAL that does not belong to it
 */
export function hasDatabase(path: string): boolean {
  const isThere = hasContent(path);
  if (!hasContent(`${path}-wal`) || (isThere && usesWal(path))) return isThere;
  throw new FileError(
    `${path} is missing, empty or another database, and what was written last is only in ${path}-wal: put ` +
      `the database back that this belongs to, or move ${path}-wal away and put a backup there`,
  );
}

function hasContent(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** Whether a database uses a WAL: a copy by `npm run backup` does not, and the WAL of another would damage it. */
function usesWal(path: string): boolean {
  // https://www.sqlite.org/fileformat.html#file_format_version_numbers
  const version = Buffer.alloc(1);
  withOpen(path, 'r', (file) => readSync(file, version, 0, 1, 18));
  return version[0] === 2;
}
