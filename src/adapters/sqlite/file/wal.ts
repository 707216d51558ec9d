import { closeSync, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { FileError } from './failures.ts';

const CHUNK_BYTES = 64 * 1024;

/**
 * Writes the kernel's copy of the WAL to the disk: after a failed sync, the kernel takes for written what the disk lacks. A
 * checkpoint would write such pages into the file; after a power loss, some would remain without the WAL to complete them. To
 * be called before the first checkpoint of a process, without a running service.
 */
export function rewriteWal(sql: DatabaseSync, path: string): void {
  // Other processes can only read it meanwhile.
  sql.exec('begin immediate');
  try {
    const file = openSync(`${path}-wal`, 'r+');
    try {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (let at = 0, read = 0; ; at += read) {
        read = readSync(file, chunk, 0, CHUNK_BYTES, at);
        if (read === 0) break;
        writeSync(file, chunk, 0, read, at);
      }
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } finally {
    sql.exec('rollback');
  }
}

/** Whether a file is missing or empty: SQLite would create a database in it, and delete its WAL. */
export function isMissing(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** @throws FileError if a WAL does not belong to the database beside it */
export function requireOwnWal(path: string): void {
  if (isMissing(`${path}-wal`) || (!isMissing(path) && hasWal(path))) return;
  throw new FileError(
    `${path} is missing, empty or another database, and what was written last is only in ${path}-wal: put ` +
      `the database back that this belongs to, or move ${path}-wal away and put a backup there`,
  );
}

/** Whether a database uses a WAL: a copy by `npm run backup` does not, and the WAL of another would damage it. */
function hasWal(path: string): boolean {
  // https://www.sqlite.org/fileformat.html#file_format_version_numbers
  const file = openSync(path, 'r');
  try {
    const version = Buffer.alloc(1);
    readSync(file, version, 0, 1, 18);
    return version[0] === 2;
  } finally {
    closeSync(file);
  }
}
