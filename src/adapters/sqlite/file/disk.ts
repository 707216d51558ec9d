import { accessSync, closeSync, constants, fsyncSync, mkdirSync, openSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { FileError } from './failures.ts';

/** Linux's numbers of file systems (statfs(2)). */
const NETWORK = [0x6969, 0xff534d42, 0xfe534d42, 0x01021997]; // NFS, CIFS, SMB2, 9P
const MEMORY = [0x01021994, 0x858458f6]; // tmpfs, ramfs
const FUSE = 0x65735546;

/** A warning about the file system of a folder, if the database in it needs one. */
function diskWarning(folder: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const { type } = statfsSync(folder);
  if (NETWORK.includes(type)) {
    throw new FileError(
      `${folder} is on a network file system, which loses plants: set DATA_DIR to a local one, or DATABASE_URL to Postgres`,
    );
  }
  if (MEMORY.includes(type)) return `${folder} is in memory (tmpfs): a restart of the machine loses all plants.`;
  if (type !== FUSE) return undefined;
  return `${folder} is on a FUSE file system: a power loss loses plants unless it syncs what it confirms.`;
}

/** Opens a file or folder as long as the work takes. */
export function withOpen<T>(path: string, flags: 'r' | 'r+', work: (fd: number) => T): T {
  const fd = openSync(path, flags);
  try {
    return work(fd);
  } finally {
    closeSync(fd);
  }
}

/** Writes a file or folder to the disk, whoever wrote it. @throws the system's error if the disk fails */
export function syncPath(path: string): void {
  withOpen(path, 'r', fsyncSync);
}

/**
 * Ensures that there is a folder for the database.
 *
 * @returns a warning about its file system, if one is needed
 * @throws Error, saying what to do, if the folder cannot be created or written, or its file system does not share memory
 * between processes, which SQLite's WAL needs
 */
export function prepareFolder(folder: string): string | undefined {
  try {
    makeFolder(resolve(folder));
    // The trailing slash makes this fail for a file.
    accessSync(`${folder}/`, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${folder} is not a writable folder (${code}): fix that, or set DATA_DIR to another one`);
  }
  return diskWarning(folder);
}

/**
 * Creates a folder and its parents, on the disk. Node.js's recursive mkdir never ends where the system fails with ENOENT, as
 * in /proc.
 */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || folder === dirname(folder)) throw error;
    makeFolder(dirname(folder));
    mkdirSync(folder);
  }
  syncPath(dirname(folder));
}
