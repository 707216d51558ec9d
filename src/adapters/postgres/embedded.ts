import { access, chmod, constants, mkdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Kysely, PGliteDialect } from 'kysely';
import type { Database, Tables } from './database.ts';
import { readTextsExactly } from './exact-texts.ts';
import { lockFolder } from './folder-lock.ts';

/** The major version of PGlite's Postgres; it cannot read the files of another one. */
const POSTGRES_VERSION = '18';

/**
 * Opens the embedded database (PGlite: real Postgres in this process), made on first use, in a folder that no other
 * process has open.
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
    const sql = new Kysely<Tables>({ dialect: new PGliteDialect({ pglite }) });
    return {
      sql,
      connections: 1,
      description: `the embedded database in ${resolve(dataDir)}`,
      async close() {
        // Kysely closes only what it has used.
        await sql.destroy();
        if (!pglite.closed) await pglite.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
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
