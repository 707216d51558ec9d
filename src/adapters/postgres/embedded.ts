import { access, chmod, constants, mkdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { Kysely, PGliteDialect } from 'kysely';
import type { Database, Tables } from './database.ts';
import { SchemaError } from './errors.ts';
import { readTextsExactly } from './exact-texts.ts';
import { EARLIER_LOCKED_FILE, LOCKED_FILE, lockFolder } from './folder-lock.ts';
import { sameFiles } from './same-files.ts';

/** The major version of PGlite's Postgres; it cannot read the files of another one. */
const POSTGRES_VERSION = '18';

/**
 * Opens the embedded database (PGlite: real Postgres in this process), made on first use, in a folder that no other
 * process has open. Statements reject with SchemaError once the folder is no longer the one that was opened.
 *
 * @throws Error, saying what to do, if another process holds the folder, it cannot be written, or what is in it cannot
 * be read
 */
export async function embeddedDatabase(dataDir: string): Promise<Database> {
  await makeWritable(dataDir);
  const unlock = lockFolder(dataDir);
  try {
    const folder = join(dataDir, 'postgres');
    await requireOurVersion(folder);
    // Only now: it takes a hundred megabytes, which a service on a Postgres server should not pay.
    const { PGlite } = await import('@electric-sql/pglite');
    await makeFolder(folder);
    // PGlite's files can be written by everyone.
    await chmod(folder, 0o700);
    const pglite = await PGlite.create(folder).catch((error: Error) => {
      throw new Error(`the database in ${folder} cannot be opened: ${reason(error)}`, { cause: error });
    });
    readTextsExactly(pglite);
    const lostFile = sameFiles({
      required: [join(dataDir, LOCKED_FILE), join(folder, 'PG_VERSION')],
      // Only an earlier version makes it anew, and that one does not see the other lock.
      optional: [join(dataDir, EARLIER_LOCKED_FILE)],
    });
    requireFiles(pglite, lostFile);
    const sql = new Kysely<Tables>({ dialect: new PGliteDialect({ pglite }) });
    return {
      sql,
      connections: 1,
      description: `the embedded database in ${resolve(dataDir)}`,
      async close() {
        // PGlite would write into whatever is in the folder now.
        if (lostFile() === undefined) {
          // Kysely closes only what it has used.
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
 * Makes every statement reject, saying what to do, once there is a lost file: a plant committed to a folder that was
 * deleted would be gone, and one that was replaced may be in use by another process.
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

/** Whether it is an Execute or a Query, by its first byte; other messages only prepare one, or end it. */
function runsStatement([type]: Uint8Array): boolean {
  return type === 'E'.charCodeAt(0) || type === 'Q'.charCodeAt(0);
}

async function makeWritable(folder: string): Promise<void> {
  try {
    await makeFolder(resolve(folder));
    // With the slash a file is none.
    await access(`${folder}/`, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${folder} is no folder that can be written (${code}): mend that, or set DATA_DIR to another one`);
  }
}

/** With the folders above it. Node.js's own way never ends where the system refuses with ENOENT, as in /proc. */
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

/**
 * For what only looks: it should make no database in a folder that was mistyped.
 *
 * @throws Error if there is no embedded database in the folder
 */
export async function requireEmbeddedDatabase(dataDir: string): Promise<void> {
  await access(join(dataDir, 'postgres/PG_VERSION')).catch((cause) => {
    throw new Error(`there is no database in ${dataDir}: npm start makes one there, or set DATA_DIR`, { cause });
  });
}

/** Of another version PGlite would only say that it failed. */
async function requireOurVersion(folder: string): Promise<void> {
  const version = await readFile(join(folder, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    // None yet, or a first start that was cut short, whose files PGlite makes anew.
    if (error.code === 'ENOENT') return POSTGRES_VERSION;
    throw error;
  });
  if (version.trim() === POSTGRES_VERSION) return;
  throw new Error(
    `${folder} is of Postgres ${version.trim()}, but this Plant Store has Postgres ${POSTGRES_VERSION}: ` +
      'start the version that made it, or set DATA_DIR to another folder',
  );
}

/** PGlite keeps to itself what Postgres said; the errors of its file system have a number of WASI's and no message. */
function reason({ message, errno }: Error & { errno?: number }): string {
  if (errno === WASI_ENOSPC) return 'no space is left on the disk';
  return `${message}; it is damaged or none of PGlite's: restore a backup, or set DATA_DIR to another folder`;
}

/** https://github.com/WebAssembly/WASI/blob/wasi-0.1/preview1/docs.md#-errno-variant */
const WASI_ENOSPC = 51;
