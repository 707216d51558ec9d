import { existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Kysely, PGliteDialect } from 'kysely';
import type { Database, Tables } from '../database.ts';
import { SchemaError } from '../errors.ts';
import { diskWarning, makeWritable, putDatabase, tracesIn } from './data-folder.ts';
import { syncTree } from './disk-sync.ts';
import { LOCKED_FILE, lockFolder, lostFileCheck } from './folder-lock.ts';
import { failedDisk, openPGlite } from './open-pglite.ts';
import { pgliteClient } from './pglite-client.ts';
import { startCheckpoints, vacuum } from './upkeep.ts';

interface EmbeddedDatabase extends Database {
  /** Vacuums, and begins to make checkpoints. Not during migrations: both would run inside a migration's transaction. */
  startUpkeep(): Promise<void>;
}

/**
 * Opens the embedded database (PGlite: real Postgres in this process) in a folder that it locks, and creates it on
 * first use. What it has committed survives a power loss. Statements reject with SchemaError once the folder is no longer
 * the one that was opened. The process ends at once when the disk cannot keep what was committed.
 *
 * @param say called with what takes long, a warning of a lost database or of a disk that loses data, and why the process
 * ends
 * @throws Error, saying what to do, if another process has locked the folder, it is not writable, or its content cannot
 * be read
 */
export async function embeddedDatabase(
  dataDir: string,
  say: (text: string) => void = console.error,
): Promise<EmbeddedDatabase> {
  await makeWritable(dataDir);
  const traces = tracesIn(dataDir);
  const unlock = lockFolder(dataDir);
  try {
    return await open(dataDir, traces, say, unlock);
  } catch (error) {
    unlock();
    const { message, path } = error as NodeJS.ErrnoException;
    if (path === undefined) throw error;
    throw new Error(`${message}: fix that, or set DATA_DIR to another folder`, { cause: error });
  }
}

async function open(
  dataDir: string,
  traces: readonly string[],
  say: (text: string) => void,
  unlock: () => void,
): Promise<EmbeddedDatabase> {
  const folder = join(dataDir, 'postgres');
  if (existsSync(folder)) await makeWritable(folder);
  const create = async (empty: string) => {
    if (traces.length > 0) {
      say(
        `Warning: ${dataDir} was in use before, since it has ${traces.join(' and ')}, but its database is gone, so an ` +
          `EMPTY one is created. If there were plants, stop this and replace ${dataDir} with a whole backup.`,
      );
    }
    say(`Creating the embedded database in ${dataDir}, which takes some seconds ...`);
    await (await openPGlite(empty, folder, say)).close();
  };
  await putDatabase(folder, create);
  // A backup, an earlier version or a killed process may have left it in the kernel's memory only.
  await syncTree(folder).catch((error: NodeJS.ErrnoException) => {
    throw error.syscall === 'fsync' ? new Error(failedDisk(folder, error), { cause: error }) : error;
  });
  const pglite = await openPGlite(folder, folder, say);
  const warning = await diskWarning(folder);
  if (warning !== undefined) say(`Warning: ${warning}`);

  const lostFile = lostFileCheck([join(dataDir, LOCKED_FILE), join(folder, 'PG_VERSION')]);
  const client = await pgliteClient(pglite, () => {
    const lost = lostFile();
    // A plant committed to a deleted folder would be gone, and a replaced folder may be in use by another process.
    if (lost !== undefined) throw new SchemaError(`${lost} ${LOST}`);
  });
  const sql = new Kysely<Tables>({ dialect: new PGliteDialect({ pglite: client }) });
  let stopCheckpoints = () => {};
  return {
    sql,
    connections: 1,
    // A statement and its fsync run within a turn of the event loop, so that without this each would be for one request.
    letRequestsArrive: nextTurn,
    isDistributed: async () => false,
    description: `the embedded database in ${resolve(dataDir)}`,
    async startUpkeep() {
      await vacuum(sql, folder).catch(({ message }) => say(`Warning: the table plants was not vacuumed (${message}).`));
      stopCheckpoints = startCheckpoints(sql);
    },
    async close() {
      stopCheckpoints();
      // Otherwise PGlite would write into the replaced folder. Kysely closes PGlite only if it has used it.
      if (lostFile() === undefined) {
        await sql.destroy();
        if (!pglite.closed) await pglite.close();
      }
      unlock();
    },
  };
}

const LOST =
  'was deleted or replaced while the database was open, so nothing is written any more: ' +
  'restore DATA_DIR from a backup if it is gone, and restart the service';

/** For commands that must not create a database in a mistyped folder. @throws Error if there is none in the folder */
export async function requireEmbeddedDatabase(dataDir: string): Promise<void> {
  await access(join(dataDir, 'postgres/PG_VERSION')).catch((cause) => {
    throw new Error(`there is no database in ${dataDir}: npm start creates one there, or set DATA_DIR`, { cause });
  });
}
