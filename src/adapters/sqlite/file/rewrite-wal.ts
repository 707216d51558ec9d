import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';

const CHUNK = 64 * 1024;

/**
 * Writes the WAL to the disk as the kernel has it, which after a sync that failed takes for written what the disk does not have.
 * A checkpoint would write pages of it into the file, of which a power loss may leave some, without the WAL to complete them.
 * To be called before the first checkpoint of a process.
 */
export function rewriteWal(sql: DatabaseSync, path: string): void {
  // Other processes only read it meanwhile.
  sql.exec('begin immediate');
  try {
    const file = openSync(`${path}-wal`, 'r+');
    try {
      const chunk = Buffer.alloc(CHUNK);
      for (let at = 0, read = 0; ; at += read) {
        read = readSync(file, chunk, 0, CHUNK, at);
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
