import { accessSync, closeSync, constants, existsSync, openSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { openConnection } from './connection.ts';
import { databaseOn } from './database.ts';
import { prepareFolder, syncPath } from './disk.ts';
import { FileError, failureOf } from './failures.ts';
import { LOCKED_FILE, lockFolder, lostFileCheck } from './folder-lock.ts';
import { onceFree } from './once-free.ts';
import { applySchema, requireVersion } from './schema.ts';
import { isMissing, requireOwnWal, rewriteWal } from './wal.ts';

export const FILE = 'plants.db';

/** The folder of version 1.0.0's embedded database, PGlite. */
const FORMER = 'postgres';

/** An open database. */
export type DatabaseFile = Awaited<ReturnType<typeof openFile>>;

interface OpenOptions {
  /** Milliseconds until work is given up that has no time of its own. */
  readonly timeout: number;
  /** Called with what people should know. */
  readonly say: (text: string) => void;
  /** Ends the process once the responses have left that say so. */
  readonly end: (reason: string) => void;
}

/**
 * Opens the database in a folder for the service: locks the folder, creates the file on first use, brings its schema up to
 * date and writes what earlier processes have left in the WAL.
 *
 * @throws FileError, saying what to do, if it cannot be used
 */
export async function openDatabaseFile(dataDir: string, options: OpenOptions): Promise<DatabaseFile> {
  const warning = await prepareFolder(dataDir);
  if (warning !== undefined) options.say(`Warning: ${warning}`);
  const path = join(dataDir, FILE);
  refuseFormer(dataDir, path);
  requireOwnWal(path);
  const isNew = isMissing(path);
  const traces = isNew ? [LOCKED_FILE, 'access-token'].filter((name) => existsSync(join(dataDir, name))) : [];
  if (traces.length > 0) {
    options.say(
      `Warning: ${dataDir} was in use before, since it has ${traces.join(' and ')}, but its database is gone, so an ` +
        `EMPTY one is created. If there were plants, stop this and put ${FILE} from a backup there.`,
    );
  }
  const unlock = lockFolder(dataDir);
  try {
    return await openFile(dataDir, path, unlock, options);
  } catch (error) {
    unlock();
    throw new FileError(failureOf(error).problem ?? `${path}: ${(error as Error).message}`, { cause: error });
  }
}

async function openFile(dataDir: string, path: string, unlock: () => void, { timeout, say, end }: OpenOptions) {
  const sql = await openSynced(dataDir, path);
  const lostFile = lostFileCheck([LOCKED_FILE, FILE, `${FILE}-wal`, `${FILE}-shm`].map((name) => join(dataDir, name)));
  const { check, close, ...database } = databaseOn(sql, { path, timeout, lostFile, end });
  return {
    ...database,
    /** @throws FileError if nothing can be written, which only a commit with content would show */
    requireWritable(): void {
      check();
      for (const name of [path, `${path}-wal`]) accessSync(name, constants.W_OK);
    },
    description: `the embedded database in ${resolve(dataDir)}`,
    async close(): Promise<void> {
      try {
        await close();
      } catch (error) {
        say(
          `Warning: ${failureOf(error).problem ?? (error as Error).message}. The next start writes what is in ${path}-wal.`,
        );
      } finally {
        unlock();
      }
    },
  };
}

/** Opens the file so that everything in it is on the disk. */
async function openSynced(dataDir: string, path: string): Promise<DatabaseSync> {
  // SQLite's own files get the same mode. It syncs the folder only with the WAL.
  closeSync(openSync(path, constants.O_CREAT | constants.O_RDWR, 0o600));
  // A copy of a backup may be in the kernel's memory only.
  for (const each of [path, dataDir]) syncPath(each);
  const sql = await onceFree(() => openConnection(path, { prepare: (sql) => requireVersion(sql, path) }));
  // If a sync fails the connection stays open: SQLite would make a checkpoint at its end.
  await onceFree(() => rewriteWal(sql, path));
  try {
    await onceFree(() => applySchema(sql, path));
    // What a reader keeps from the file is on the disk all the same, in the WAL.
    sql.exec('pragma wal_checkpoint(truncate)');
    return sql;
  } catch (error) {
    if (!failureOf(error).isLostSync) sql.close();
    throw error;
  }
}

/** @throws FileError if the folder has only a database of version 1.0.0 */
function refuseFormer(dataDir: string, path: string): void {
  if (existsSync(path) || !existsSync(join(dataDir, FORMER))) return;
  throw new FileError(
    `${dataDir} has a database of version 1.0.0 (${FORMER}), and none of this version: start version 1.0.0 on it, ` +
      'download all plants as NDJSON, start this version with another DATA_DIR, and import them (docs/upgrading.md)',
  );
}
