import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { runner } from '../sql/run.ts';
import { sqlite } from './dialect.ts';
import { onceFree, openConnection, PATIENCE_MS_MAX } from './file/connection.ts';
import type { OpenDatabase } from './file/database.ts';
import { FILE } from './file/database-file.ts';
import { statementsOn } from './file/driver.ts';
import { FileError, failureOf, withAdvice } from './file/failures.ts';
import { isLocked } from './file/folder-lock.ts';
import { requireVersion } from './file/schema.ts';
import { hasDatabase, rewriteWal } from './file/wal.ts';

/** What commands use of a file, beside the service or without it. */
type CommandFile = Pick<OpenDatabase, 'sql' | 'run'>;

/**
 * Opens the file for a command, without locking the folder or creating a file, and closes it once the work is done. If the
 * work fails, the connection stays open until the process ends: SQLite would make a checkpoint when it closes.
 *
 * @param stop ends waits for other processes, which throw its reason
 * @throws FileError, saying what to do, if there is no file, or it cannot be used
 */
export async function withDatabaseFile<T>(
  dataDir: string,
  work: (file: CommandFile) => Promise<T>,
  stop?: AbortSignal,
): Promise<T> {
  const path = join(dataDir, FILE);
  if (!hasDatabase(path)) {
    throw new FileError(`there is no database in ${dataDir}: npm start creates one there, or set DATA_DIR`);
  }
  try {
    const sql = await onceFree(() => openConnection(path, (sql) => requireVersion(sql, path, true)), stop);
    const result = await work(commandFileOn(sql, stop));
    closeOn(sql, path, isLocked(dataDir));
    return result;
  } catch (error) {
    throw withAdvice(error);
  }
}

/** Runs the work of a command on an open connection: it waits for the locks of others. */
export function commandFileOn(sql: DatabaseSync, stop?: AbortSignal): CommandFile {
  function gate() {
    stop?.throwIfAborted();
    return sqlite;
  }
  const database = { ...statementsOn(sql), connections: 1, failureOf, withAdvice };
  return { sql, run: runner(database, { gate, timeout: PATIENCE_MS_MAX }).run };
}

/**
 * Closes the connection. If it is the last one, its checkpoint must not rely on pages that the disk may lack: unless a
 * service has ensured that, the WAL is rewritten first. While another process writes, the connection is left open, without a
 * wait: it is not the last one.
 */
function closeOn(sql: DatabaseSync, path: string, isSure: boolean): void {
  try {
    if (!isSure) rewriteWal(sql, path);
  } catch (error) {
    if (failureOf(error).isBusy) return;
    throw error;
  }
  sql.close();
}
