import { existsSync } from 'node:fs';
import { access, chmod, constants, mkdir, readdir, readFile, rename, rm, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { syncFolder, syncTree } from './disk-sync.ts';
import { LOCKED_FILE } from './folder-lock.ts';

/** The major version of PGlite's Postgres, which cannot read the files of another one. */
const POSTGRES_VERSION = '18';

/** @throws Error, saying what to do, if the folder cannot be created or written */
export async function makeWritable(folder: string): Promise<void> {
  try {
    await makeFolder(resolve(folder));
    // The trailing slash makes this fail for a file.
    await access(`${folder}/`, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${folder} is not a writable folder (${code}): fix that, or set DATA_DIR to another one`);
  }
}

/**
 * Creates parent folders too, on the disk. Node.js's recursive mkdir never ends where the system fails with ENOENT, as in
 * /proc.
 */
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
  syncFolder(dirname(folder));
}

const UNFINISHED = '.unfinished';

/** What each start leaves beside the database: its lock, and the service's own token if none is configured. */
const TRACES = [LOCKED_FILE, 'access-token'];

/** What starts have left in a folder, unless the first one was interrupted before there was a database. */
export function tracesIn(dataDir: string): readonly string[] {
  const has = (name: string) => existsSync(join(dataDir, name));
  return has(`postgres${UNFINISHED}`) ? [] : TRACES.filter(has);
}

/**
 * Puts a new database into a folder unless it has one. It gets its name only once all of it is on the disk: whatever has
 * the name is whole.
 *
 * @param create creates a database in an empty folder, and closes it
 * @throws Error, saying what to do, if the folder has something else, or a database of another version of Postgres
 */
export async function putDatabase(folder: string, create: (empty: string) => Promise<void>): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (names.length === 0) {
    // An interrupted attempt has left it, which nobody has used.
    const unfinished = `${folder}${UNFINISHED}`;
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished, 0o700);
    await create(unfinished);
    await syncTree(unfinished);
    await rename(unfinished, folder);
    syncFolder(dirname(folder));
  } else {
    await requireDatabase(folder, names);
  }
  // PGlite's files are world-writable.
  await chmod(folder, 0o700);
}

async function requireDatabase(folder: string, names: readonly string[]): Promise<void> {
  if (!names.includes('PG_VERSION')) {
    throw new Error(
      `${folder} is not a database, since it has no PG_VERSION: move it away for a new one, or set DATA_DIR to another folder`,
    );
  }
  const version = (await readFile(join(folder, 'PG_VERSION'), 'utf8')).trim();
  if (version === POSTGRES_VERSION) return;
  throw new Error(
    `${folder} belongs to Postgres ${version}, but this Plant Store has Postgres ${POSTGRES_VERSION}: ` +
      'start the version that created it, or set DATA_DIR to another folder',
  );
}

/** Linux's numbers of file systems (statfs(2)) that lose what is synced, or may lie on another machine. */
const KINDS: ReadonlyMap<number, 'memory' | 'network'> = new Map([
  [0x01021994, 'memory'], // tmpfs
  [0x858458f6, 'memory'], // ramfs
  [0x6969, 'network'], // NFS
  [0xff534d42, 'network'], // CIFS
  [0xfe534d42, 'network'], // SMB2
  [0x01021997, 'network'], // 9P
]);

/** A warning about the disk of a folder, if one is known to be needed. */
export async function diskWarning(folder: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined;
  const { type } = await statfs(folder);
  const kind = KINDS.get(type);
  if (kind === 'memory') return `${folder} is in memory (tmpfs): a restart of the machine loses all plants.`;
  if (kind === 'network') {
    return `${folder} is on a network file system: a power loss loses plants unless its server syncs what it confirms.`;
  }
  return undefined;
}
