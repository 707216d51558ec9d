import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { PlantStoreError } from '../../domain/errors.ts';
import { runner } from '../sql/run.ts';
import { sqlite } from './dialect.ts';
import { fileAddress, openConnection } from './file/connection.ts';
import { type DatabaseFile, FILE } from './file/database-file.ts';
import { statementsOn } from './file/driver.ts';
import { FileError, failureOf } from './file/failures.ts';
import { isLocked } from './file/folder-lock.ts';
import { onceFree, PATIENCE } from './file/once-free.ts';
import { requireVersion } from './file/schema.ts';
import { isMissing, requireOwnWal, rewriteWal } from './file/wal.ts';

/** What commands have of a file, beside the service or without it. */
type CommandFile = Pick<DatabaseFile, 'sql' | 'run'>;

/**
 * Opens the file for a command, which takes no lock of the folder and creates nothing, and closes it once the work is done.
 *
 * @param stop ends waits for other processes, which throw its reason
 * @throws FileError, saying what to do, if there is none, or it cannot be used
 */
export async function withDatabaseFile<T>(
  dataDir: string,
  isReadOnly: boolean,
  work: (file: CommandFile) => Promise<T>,
  stop?: AbortSignal,
): Promise<T> {
  const path = join(dataDir, FILE);
  requireOwnWal(path);
  if (isMissing(path)) {
    throw new FileError(`there is no database in ${dataDir}: npm start creates one there, or set DATA_DIR`);
  }
  const before = lastWrite(path);
  // Without a WAL, which the service has as long as it runs, SQLite would create one to read.
  const isUnlocked = isReadOnly && !existsSync(`${path}-wal`);
  const address = isUnlocked ? fileAddress(path, 'immutable=1') : path;
  const prepare = (sql: DatabaseSync) => requireVersion(sql, path, true);
  try {
    accessSync(path, isReadOnly ? constants.R_OK : constants.W_OK);
    const sql = await onceFree(() => openConnection(address, { readOnly: isReadOnly, prepare }), stop);
    const close = () => closeOn(sql, path, isReadOnly || isLocked(dataDir));
    let result: T;
    try {
      result = await work(commandFileOn(sql, stop));
    } catch (error) {
      try {
        if (!failureOf(error).isLostSync) close();
      } catch {
        // Why the work has failed is what people need.
      }
      throw error;
    }
    close();
    return result;
  } catch (error) {
    const cause = error instanceof PlantStoreError ? error.cause : error;
    const failure = failureOf(cause);
    const problem = failure.isBusy ? `another process has written to ${path} for too long: try again` : failure.problem;
    if (problem === undefined || cause instanceof FileError) throw cause;
    throw new FileError(`${problem}. Run the same command again once it works.`, { cause: error });
  } finally {
    // Also where the work has failed, which may be the reason.
    if (isUnlocked) requireSameTime(path, before);
  }
}

/** What a command does with an open connection: it waits for the locks of others. */
export function commandFileOn(sql: DatabaseSync, stop?: AbortSignal): CommandFile {
  function gate() {
    stop?.throwIfAborted();
    return sqlite;
  }
  const { sql: statements, withTransactions } = statementsOn(sql);
  const database = { sql: statements, connections: 1, failureOf };
  return { sql, run: withTransactions(runner(database, { gate, timeout: PATIENCE })) };
}

/**
 * Closes the connection, whose checkpoint, if it is the last one, must not take for written what the disk may not have: if no
 * service has seen to that, the WAL is written before, and the connection stays open if that fails. It is not the last one
 * while another process writes, for which this does not wait: the work is done.
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

/** In nanoseconds. */
function lastWrite(path: string): bigint {
  return statSync(path, { bigint: true }).mtimeNs;
}

/** @throws FileError if the file has been written since */
function requireSameTime(path: string, before: bigint): void {
  if (lastWrite(path) === before) return;
  throw new FileError(`another process has begun to write to ${path} while it was read: run the same command again`);
}
