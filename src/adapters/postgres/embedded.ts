import { access, chmod, constants, mkdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { Kysely, PGliteDialect } from 'kysely';
import type { Database, Tables } from './database.ts';
import { SchemaError } from './errors.ts';
import { readTextsExactly } from './exact-texts.ts';
import { EARLIER_LOCKED_FILE, LOCKED_FILE, lockFolder } from './folder-lock.ts';
import { lostFileCheck } from './lost-files.ts';

/** The major version of PGlite's Postgres, which cannot read the files of another one. */
const POSTGRES_VERSION = '18';

/**
 * Opens the embedded database (PGlite: real Postgres in this process) in a folder that it locks, and creates it on
 * first use. Statements reject with SchemaError once the folder is no longer the one that was opened.
 *
 * @throws Error, saying what to do, if another process has locked the folder, it is not writable, or its content cannot
 * be read
 */
export async function embeddedDatabase(dataDir: string): Promise<Database> {
  await makeWritable(dataDir);
  const unlock = lockFolder(dataDir);
  try {
    const folder = join(dataDir, 'postgres');
    await requireOurVersion(folder);
    // Imported only here: it takes a hundred megabytes, which a service on a Postgres server does not need.
    const { PGlite } = await import('@electric-sql/pglite');
    await makeFolder(folder);
    // PGlite's files are world-writable.
    await chmod(folder, 0o700);
    const pglite = await PGlite.create(folder).catch((error: Error) => {
      throw new Error(`the database in ${folder} cannot be opened: ${reason(error)}`, { cause: error });
    });
    readTextsExactly(pglite);
    const lostFile = lostFileCheck({
      required: [join(dataDir, LOCKED_FILE), join(folder, 'PG_VERSION')],
      // If it is replaced, an earlier version has done so, which ignores the other lock.
      optional: [join(dataDir, EARLIER_LOCKED_FILE)],
    });
    requireFiles(pglite, lostFile);
    const sql = new Kysely<Tables>({ dialect: new PGliteDialect({ pglite }) });
    return {
      sql,
      connections: 1,
      description: `the embedded database in ${resolve(dataDir)}`,
      async close() {
        // Otherwise PGlite would write into the replaced folder.
        if (lostFile() === undefined) {
          // Kysely closes PGlite only if it has used it.
          await sql.destroy();
          if (!pglite.closed) await pglite.close();
        }
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/**
 * Makes every statement reject, saying what to do, once a file is lost: a plant committed to a deleted folder would be
 * gone, and a replaced folder may be in use by another process.
 */
function requireFiles(pglite: PGlite, lostFile: () => string | undefined): void {
  const execute = pglite.execProtocolRaw.bind(pglite);
  pglite.execProtocolRaw = async (message, options) => {
    const lost = runsStatement(message) ? lostFile() : undefined;
    if (lost === undefined) return execute(message, options);
    throw new SchemaError(
      `${lost} was deleted or replaced while the database was open, so nothing is written any more: ` +
        'restore DATA_DIR from a backup if it is gone, and restart the service',
    );
  };
}

/** Whether the message is an Execute or a Query, by its type; other messages only prepare or finish one. */
function runsStatement([type]: Uint8Array): boolean {
  return type === 'E'.charCodeAt(0) || type === 'Q'.charCodeAt(0);
}

async function makeWritable(folder: string): Promise<void> {
  try {
    await makeFolder(resolve(folder));
    // The trailing slash makes this fail for a file.
    await access(`${folder}/`, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${folder} is not a writable folder (${code}): fix that, or set DATA_DIR to another one`);
  }
}

/** Creates parent folders too. Node.js's recursive mkdir never ends where the system fails with ENOENT, as in /proc. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || folder === dirname(folder)) throw error;
    await makeFolder(dirname(folder));
    await mkdir(folder);
  }
}

/** For commands that must not create a database in a mistyped folder. @throws Error if there is none in the folder */
export async function requireEmbeddedDatabase(dataDir: string): Promise<void> {
  await access(join(dataDir, 'postgres/PG_VERSION')).catch((cause) => {
    throw new Error(`there is no database in ${dataDir}: npm start creates one there, or set DATA_DIR`, { cause });
  });
}

/** For another version PGlite would only report that it failed. */
async function requireOurVersion(folder: string): Promise<void> {
  const version = await readFile(join(folder, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    // There is none yet, or the first start was interrupted, whose files PGlite recreates.
    if (error.code === 'ENOENT') return POSTGRES_VERSION;
    throw error;
  });
  if (version.trim() === POSTGRES_VERSION) return;
  throw new Error(
    `${folder} belongs to Postgres ${version.trim()}, but this Plant Store has Postgres ${POSTGRES_VERSION}: ` +
      'start the version that created it, or set DATA_DIR to another folder',
  );
}

/** PGlite does not report Postgres's own message; the errors of its file system have a WASI number and no message. */
function reason({ message, errno }: Error & { errno?: number }): string {
  if (errno === WASI_ENOSPC) return 'no space is left on the disk';
  return `${message}; it is damaged or not PGlite's: restore a backup, or set DATA_DIR to another folder`;
}

/** https://github.com/WebAssembly/WASI/blob/wasi-0.1/preview1/docs.md#-errno-variant */
const WASI_ENOSPC = 51;
