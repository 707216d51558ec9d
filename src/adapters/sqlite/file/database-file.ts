import { closeSync, constants, existsSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { onceFree, openConnection } from './connection.ts';
import { type DatabaseOptions, databaseOn, type OpenDatabase } from './database.ts';
import { prepareFolder, syncPath } from './disk.ts';
import { FileError, withAdvice } from './failures.ts';
import { LOCKED_FILE, lockFolder } from './folder-lock.ts';
import { applySchema, requireVersion } from './schema.ts';
import { hasDatabase, rewriteWal } from './wal.ts';

export const FILE = 'plants.db';

/** The folder of version 1.0.0's embedded database, PGlite. */
const PGLITE_FOLDER = 'postgres';

interface OpenOptions extends Pick<DatabaseOptions, 'timeout' | 'end'> {
  /** Called with messages for people. */
  readonly say: (text: string) => void;
}

/**
 * Opens the database in a folder for the service: locks the folder, creates the file on first use, updates its schema and
 * writes what earlier processes have left in the WAL.
 *
 * @throws FileError, saying what to do, if the database cannot be used
 */
export async function openDatabaseFile(dataDir: string, { timeout, say, end }: OpenOptions): Promise<OpenDatabase> {
  const warning = prepareFolder(dataDir);
  if (warning !== undefined) say(`Warning: ${warning}`);
  const path = join(dataDir, FILE);
  refuseFormer(dataDir, path);
  const traces = hasDatabase(path)
    ? []
    : [LOCKED_FILE, 'access-token'].filter((name) => existsSync(join(dataDir, name)));
  if (traces.length > 0) {
    say(
      `Warning: ${dataDir} was in use before, since it has ${traces.join(' and ')}, but its database is gone, so an ` +
        `EMPTY one is created. If there were plants, stop this and put ${FILE} from a backup there.`,
    );
  }
  const unlock = lockFolder(dataDir);
  try {
    const sql = await onceFree(() => openSynced(dataDir, path));
    const files = [LOCKED_FILE, FILE, `${FILE}-wal`, `${FILE}-shm`].map((name) => join(dataDir, name));
    const database = databaseOn(sql, { path, timeout, lostFile: lostFileCheck(files), end });
    return {
      ...database,
      async close(): Promise<void> {
        try {
          await database.close();
        } catch (error) {
          say(`Warning: ${(withAdvice(error) as Error).message}. The next start writes what is in ${path}-wal.`);
        } finally {
          unlock();
        }
      },
    };
  } catch (error) {
    unlock();
    throw withAdvice(error);
  }
}

/** Opens the file and ensures that its content is on the disk. */
function openSynced(dataDir: string, path: string): DatabaseSync {
  // SQLite's other files get the same mode. SQLite syncs the folder only with the WAL.
  closeSync(openSync(path, constants.O_CREAT | constants.O_RDWR, 0o600));
  // A restored backup may still be only in the memory of the kernel.
  syncPath(path);
  syncPath(dataDir);
  return openConnection(path, (sql) => {
    requireVersion(sql, path);
    rewriteWal(sql, path);
    applySchema(sql);
    // Pages that a reader keeps from the file are also on the disk, in the WAL.
    sql.exec('pragma wal_checkpoint(truncate)');
  });
}

/** @throws FileError if the folder has only a database of version 1.0.0 */
function refuseFormer(dataDir: string, path: string): void {
  if (existsSync(path) || !existsSync(join(dataDir, PGLITE_FOLDER))) return;
  throw new FileError(
    `${dataDir} has a database of version 1.0.0 (${PGLITE_FOLDER}), and none of this version: start version 1.0.0 on it, ` +
      'download all plants as NDJSON, start this version with another DATA_DIR, and import them (docs/upgrading.md)',
  );
}

/**
 * Remembers files by device and inode.
 *
 * @returns a function that returns the path of a file that was deleted or replaced since. It takes microseconds and is
 * synchronous, so that the next call uses the files that it has checked
 */
function lostFileCheck(paths: readonly string[]): () => string | undefined {
  function identityOf(path: string): string {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return `${stat?.dev}:${stat?.ino}`;
  }
  const identities = paths.map(identityOf);
  return () => paths.find((path, index) => identityOf(path) !== identities[index]);
}
