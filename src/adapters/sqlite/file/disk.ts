import { closeSync, existsSync, fsyncSync, openSync, statfsSync } from 'node:fs';
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

/**
 * What a folder's file system does to the database that is in it.
 *
 * @returns a warning, if one is needed
 * @throws FileError if it does not share memory between processes, as SQLite's WAL needs
 */
export function diskWarning(folder: string): string | undefined {
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
