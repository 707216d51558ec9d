import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { openConnection } from './file/connection.ts';
import { type DatabaseFile, FILE } from './file/database-file.ts';
import { FileError, failureOf } from './file/failures.ts';
import { requireVersion } from './file/schema.ts';
import { isMissing, requireOwnWal, rewriteWal } from './file/wal.ts';

/** What commands have of a file, beside the service or without it. */
type CommandFile = Pick<DatabaseFile, 'sql' | 'read' | 'write'>;

/**
 * Opens the file for a command, which takes no lock of the folder and creates nothing, and closes it once the work is done.
 *
 * @throws FileError, saying what to do, if there is none, or it cannot be used
 */
export async function withDatabaseFile<T>(
  dataDir: string,
  isReadOnly: boolean,
  work: (file: CommandFile) => Promise<T>,
): Promise<T> {
  const path = join(dataDir, FILE);
  requireOwnWal(path);
  if (isMissing(path)) {
    throw new FileError(`there is no database in ${dataDir}: npm start creates one there, or set DATA_DIR`);
  }
  const before = lastWrite(path);
  // Without a WAL, which the service has as long as it runs, SQLite would create one to read.
  const isUnlocked = isReadOnly && !existsSync(`${path}-wal`);
  try {
    accessSync(path, isReadOnly ? constants.R_OK : constants.W_OK);
    const sql = openConnection(isUnlocked ? unlockedAddress(path) : path, isReadOnly);
    let isLost = false;
    try {
      requireVersion(sql, path, true);
      // SQLite makes a checkpoint at the end if the service does not run.
      if (!isReadOnly) rewriteWal(sql, path);
      return await work(commandFileOn(sql));
    } catch (error) {
      isLost = failureOf(error).isLostSync;
      throw error;
    } finally {
      // Its checkpoint would take for written what the disk may not have.
      if (!isLost) sql.close();
    }
  } catch (error) {
    const failure = failureOf(error);
    const problem = failure.isBusy ? `another process has written to ${path} for too long: try again` : failure.problem;
    if (problem === undefined || error instanceof FileError) throw error;
    throw new FileError(`${problem}. Run the same command again once it works.`, { cause: error });
  } finally {
    // Also where the work has failed, which may be the reason.
    if (isUnlocked) requireSameTime(path, before);
  }
}

/** What a command does with an open connection: it waits for the locks of others, and each write is a transaction. */
function commandFileOn(sql: DatabaseSync): CommandFile {
  return {
    sql,
    read: async (work) => work(),
    async write(work) {
      sql.exec('begin immediate');
      try {
        const result = work();
        sql.exec('commit');
        return result;
      } finally {
        if (sql.isTransaction) sql.exec('rollback');
      }
    },
  };
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

/** Where SQLite reads a file without a WAL, and without a lock that would keep others from writing. */
function unlockedAddress(path: string): URL {
  return new URL(`${pathToFileURL(resolve(path)).href}?immutable=1`);
}
