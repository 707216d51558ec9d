import { closeSync, existsSync, fsyncSync, openSync, statfsSync } from 'node:fs';
import { access, constants, mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { FileError } from './failures.ts';

/** Linux's numbers of file systems (statfs(2)). */
const KINDS: ReadonlyMap<number, 'memory' | 'network' | 'fuse'> = new Map([
  [0x01021994, 'memory'], // tmpfs
  [0x858458f6, 'memory'], // ramfs
  [0x6969, 'network'], // NFS
  [0xff534d42, 'network'], // CIFS
  [0xfe534d42, 'network'], // SMB2
  [0x01021997, 'network'], // 9P
  [0x65735546, 'fuse'],
]);

/** What a folder's file system does to the database that is in it, if that needs a warning. */
function diskWarning(folder: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const kind = KINDS.get(statfsSync(folder).type);
  if (kind === 'network') {
    throw new FileError(
      `${folder} is on a network file system, which loses plants: set DATA_DIR to a local one, or DATABASE_URL to Postgres`,
    );
  }
  if (kind === 'memory') return `${folder} is in memory (tmpfs): a restart of the machine loses all plants.`;
  if (kind === 'fuse') {
    return `${folder} is on a FUSE file system: a power loss loses plants unless it syncs what it confirms.`;
  }
  return undefined;
}

/** Writes a file or folder to the disk, whoever wrote it. @throws the system's error if the disk fails */
export function syncPath(path: string): void {
  if (!existsSync(path)) return;
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Makes sure that there is a folder for the database.
 *
 * @returns a warning about its file system, if one is needed
 * @throws Error, saying what to do, if it cannot be created or written, or its file system does not share memory between
 * processes, as SQLite's WAL needs
 */
export async function prepareFolder(folder: string): Promise<string | undefined> {
  try {
    await makeFolder(resolve(folder));
    // The trailing slash makes this fail for a file.
    await access(`${folder}/`, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${folder} is not a writable folder (${code}): fix that, or set DATA_DIR to another one`);
  }
  return diskWarning(folder);
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
  syncPath(dirname(folder));
}
