import fs from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/* What makes files and their names survive a power loss. A write alone leaves them in the kernel's memory. */

const open = promisify(fs.open);
const fsync = promisify(fs.fsync);
const close = promisify(fs.close);

/**
 * Writes the names in a folder to the disk; the contents of its files are synced through their own descriptors. Does
 * nothing where folders cannot be synced (Windows, some network file systems) or the folder has been removed.
 *
 * @throws the system's error if the disk fails
 */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  let fd: number;
  try {
    fd = fs.openSync(folder, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    fs.fsyncSync(fd);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
  } finally {
    fs.closeSync(fd);
  }
}

/** Writes a folder and all that is in it to the disk, whoever wrote it. @throws the system's error if the disk fails */
export async function syncTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  await Promise.all(files.map(({ name }) => syncFile(join(folder, name))));
  for (const entry of entries) if (entry.isDirectory()) await syncTree(join(folder, entry.name));
  syncFolder(folder);
}

async function syncFile(path: string): Promise<void> {
  let fd: number;
  try {
    // Windows syncs only what is open for writing.
    fd = await open(path, 'r+');
  } catch (error) {
    // Postgres cannot open the file either: it has written nothing to it, and reports the error.
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return;
    throw error;
  }
  try {
    await fsync(fd);
  } finally {
    await close(fd);
  }
}
