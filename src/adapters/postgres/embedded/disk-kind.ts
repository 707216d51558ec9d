import { statfs } from 'node:fs/promises';

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
