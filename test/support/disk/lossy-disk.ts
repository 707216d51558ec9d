import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import type { Entry } from './strace-entries.ts';

/*
 * A disk on which a recorded program has worked, and what may be left on it after a power loss. What was not synced is
 * there, is missing or is torn, sector by sector. Two models say what a sync keeps:
 *
 * - posix: the sync of a file keeps its content, and that of a folder the names in it. Nothing else is promised.
 * - ext4: names come to the disk in their order, and with them those before. The sync of a new or renamed file keeps its
 *   name; that of a folder keeps all names.
 */

export type Model = 'posix' | 'ext4';

interface Content {
  /** With room to grow. */
  octets: Buffer;
  size: number;
}

/** Of zeros if it has no octets; a truncation is at -1. */
interface Write {
  readonly at: number;
  readonly octets: Buffer | undefined;
  readonly size: number;
}

interface File {
  readonly kind: 'file';
  readonly durable: Content;
  readonly pending: Write[];
}

interface Folder {
  readonly kind: 'folder';
  readonly current: Map<string, Node>;
  readonly durable: Map<string, Node>;
  pending: { readonly turn: number; readonly names: readonly (readonly [string, Node | undefined])[] }[];
}

type Node = File | Folder;

/** How likely it is that something that was not synced is there: names, and sectors of files. */
interface Survival {
  readonly names: number;
  readonly sectors: number;
  readonly sectorSize: number;
  /** Returns from 0 to 1. */
  readonly random: () => number;
}

const emptyFolder = (): Folder => ({ kind: 'folder', current: new Map(), durable: new Map(), pending: [] });

/** @param root the recorded folder, which is empty at first */
export function lossyDisk(root: string, model: Model) {
  const top = emptyFolder();
  const folders = new Set([top]);
  let turn = 0;

  function nodeAt(path: string): Node {
    let node: Node = top;
    for (const name of relative(root, path).split(sep)) {
      if (name === '') continue;
      const next: Node | undefined = node.kind === 'folder' ? node.current.get(name) : undefined;
      if (next === undefined) throw new Error(`${path} was recorded, but not its creation`);
      node = next;
    }
    return node;
  }

  function pendingWrites(path: string): Write[] {
    const node = nodeAt(path);
    if (node.kind !== 'file') throw new Error(`${path} is no file`);
    return node.pending;
  }

  function name(path: string, node: Node | undefined, more: readonly [string, Node | undefined][] = []): void {
    const folder = nodeAt(dirname(path));
    if (folder.kind !== 'folder') throw new Error(`${path} is in no folder`);
    const names = [[basename(path), node] as const, ...more];
    for (const change of names) put(folder.current, change);
    folder.pending.push({ turn: turn++, names });
  }

  function sync(node: Node): void {
    if (node.kind === 'file') {
      for (const write of node.pending.splice(0)) carryOut(write, node.durable);
    }
    if (model === 'posix') {
      if (node.kind === 'folder') keepNames(node, Number.POSITIVE_INFINITY);
      return;
    }
    const until = node.kind === 'folder' ? Number.POSITIVE_INFINITY : lastNaming(node);
    for (const folder of folders) keepNames(folder, until);
  }

  function lastNaming(node: Node): number {
    const turns = [...folders].flatMap(({ pending }) =>
      pending.filter(({ names }) => names.some(([, named]) => named === node)).map((change) => change.turn),
    );
    return Math.max(-1, ...turns);
  }

  function keepNames(folder: Folder, until: number): void {
    for (const change of folder.pending)
      if (change.turn <= until) for (const one of change.names) put(folder.durable, one);
    folder.pending = folder.pending.filter((change) => change.turn > until);
  }

  return {
    /** Does what was recorded. @param octets of a write */
    apply(entry: Entry, octets: Buffer | undefined): void {
      if (entry.op === 'response') return;
      const { path } = entry;
      if (entry.op === 'create')
        name(path, { kind: 'file', durable: { octets: Buffer.alloc(0), size: 0 }, pending: [] });
      else if (entry.op === 'unlink' || entry.op === 'rmdir') name(path, undefined);
      else if (entry.op === 'sync') sync(nodeAt(path));
      // The kernel has reported it once, and takes what was to be written for written.
      else if (entry.op === 'failure') pendingWrites(path).splice(0);
      else if (entry.op === 'truncate') pendingWrites(path).push({ at: -1, octets: undefined, size: entry.size });
      else if (entry.op === 'mkdir') {
        const folder = emptyFolder();
        folders.add(folder);
        name(path, folder);
      } else if (entry.op === 'rename') {
        if (dirname(path) !== dirname(entry.to)) throw new Error(`${path} was moved to another folder`);
        name(path, undefined, [[basename(entry.to), nodeAt(path)]]);
      } else if (entry.op === 'write' || entry.op === 'zeros') {
        pendingWrites(path).push({ at: entry.at, octets, size: entry.size });
      }
    },

    /** Writes what is left after a power loss into a folder that exists. */
    loseTo(target: string, { names, sectors, sectorSize, random }: Survival): void {
      // In ext4, all names until some moment.
      const kept = model === 'ext4' ? Math.floor(random() * (turn + 1) * (names > 0 ? 1 : 0)) : undefined;
      const cut = names === 1 ? Number.POSITIVE_INFINITY : kept;
      writeFolder(top, target);

      function writeFolder(folder: Folder, path: string): void {
        const left = new Map(folder.durable);
        for (const change of folder.pending) {
          const isThere = cut === undefined ? random() < names : change.turn < cut;
          if (isThere) for (const one of change.names) put(left, one);
        }
        for (const [child, node] of left) {
          const file = join(path, child);
          if (node.kind === 'file') writeFileSync(file, leftOf(node));
          else {
            mkdirSync(file);
            writeFolder(node, file);
          }
        }
      }

      function leftOf({ durable, pending }: File): Buffer {
        const left = { octets: Buffer.from(durable.octets.subarray(0, durable.size)), size: durable.size };
        for (const write of pending) {
          for (const part of write.at < 0 ? [write] : inSectors(write, sectorSize)) {
            if (random() < sectors) carryOut(part, left);
          }
        }
        return left.octets.subarray(0, left.size);
      }
    },
  };
}

function put(names: Map<string, Node>, [name, node]: readonly [string, Node | undefined]): void {
  if (node === undefined) names.delete(name);
  else names.set(name, node);
}

function* inSectors({ at, octets, size }: Write, sectorSize: number): Iterable<Write> {
  for (let from = at; from < at + size; ) {
    const to = Math.min((Math.floor(from / sectorSize) + 1) * sectorSize, at + size);
    yield { at: from, octets: octets?.subarray(from - at, to - at), size: to - from };
    from = to;
  }
}

function carryOut({ at, octets, size }: Write, content: Content): void {
  if (at < 0) {
    content.octets.fill(0, size);
    resize(content, size);
    return;
  }
  resize(content, Math.max(content.size, at + size));
  if (octets === undefined) content.octets.fill(0, at, at + size);
  else octets.copy(content.octets, at);
}

/** What comes in is zeros. */
function resize(content: Content, size: number): void {
  if (size > content.octets.length) {
    const larger = Buffer.alloc(Math.max(size, 2 * content.octets.length));
    content.octets.copy(larger);
    content.octets = larger;
  }
  content.size = size;
}
