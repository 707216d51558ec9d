import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { PlantStoreError } from '../../domain/errors.ts';
import { runner } from '../sql/run.ts';
import { sqlite } from './dialect.ts';
import { onceFree, openConnection, PATIENCE_MS } from './file/connection.ts';
import type { OpenDatabase } from './file/database.ts';
import { FILE } from './file/database-file.ts';
import { statementsOn } from './file/driver.ts';
import { FileError, failureOf } from './file/failures.ts';
import { isLocked } from './file/folder-lock.ts';
import { requireVersion } from './file/schema.ts';
import { isMissing, requireOwnWal, rewriteWal } from './file/wal.ts';

/** What commands have of a file, beside the service or without it. */
type CommandFile = Pick<OpenDatabase, 'sql' | 'run'>;

/**
 * Opens the file for a command, which takes no lock of the folder and leaves nothing new, and closes it once the work is done.
 * If the work fails, the connection stays open until the process ends: SQLite would make a checkpoint at its end.
 *
 * @param stop ends waits for other processes, which throw its reason
 * @throws FileError, saying what to do, if there is none, or it cannot be used
 */
export async function withDatabaseFile<T>(
  dataDir: string,
  work: (file: CommandFile) => Promise<T>,
  stop?: AbortSignal,
): Promise<T> {
  const path = join(dataDir, FILE);
  requireOwnWal(path);
  if (isMissing(path)) {
    throw new FileError(`there is no database in ${dataDir}: npm start creates one there, or set DATA_DIR`);
  }
  try {
    const sql = await onceFree(() => openConnection(path, (sql) => requireVersion(sql, path, true)), stop);
    const result = await work(commandFileOn(sql, stop));
    closeOn(sql, path, isLocked(dataDir));
    return result;
  } catch (error) {
    const cause = error instanceof PlantStoreError ? error.cause : error;
    const { problem } = failureOf(cause);
    throw problem === undefined ? cause : new FileError(problem, { cause: error });
  }
}

/** What a command does with an open connection: it waits for the locks of others. */
export function commandFileOn(sql: DatabaseSync, stop?: AbortSignal): CommandFile {
  function gate() {
    stop?.throwIfAborted();
    return sqlite;
  }
  const database = { ...statementsOn(sql), connections: 1, failureOf };
  return { sql, run: runner(database, { gate, timeout: PATIENCE_MS }).run };
}

/**
 * Closes the connection, whose checkpoint, if it is the last one, must not take for written what the disk may not have: if no
 * service has seen to that, the WAL is written before. The connection is not the last one while another process writes, for
 * which this does not wait: the work is done.
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
