import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { Entry } from './strace-entries.ts';
import type { TracedWork } from './traced-work.ts';

/*
 * The folder of a recorded service as it may be after power losses at many moments. What was not synced is there, is missing
 * or is torn, sector by sector. The sync of a file keeps its content, and that of a folder the names in it, as POSIX says;
 * nothing else is kept. File systems that keep more, as ext4 does with names, lose nothing else.
 */

/** The octets at a place; a truncation has none. */
interface Write {
  readonly at: number;
  readonly octets: Buffer | undefined;
}

interface File {
  durable: Buffer;
  readonly pending: Write[];
}

type Node = File | 'folder';

interface Naming {
  readonly path: string;
  /** undefined if it is removed. */
  readonly node: Node | undefined;
}

/** How likely it is that something that was not synced is there: names, and sectors of files. */
interface Survival {
  readonly names: number;
  readonly sectors: number;
  readonly sectorSize: number;
}

/** @param root the recorded folder, which is empty at first. @param random returns from 0 to 1 */
function lossyDisk(root: string, random: () => number) {
  const current = new Map<string, Node>([[root, 'folder']]);
  const durable = new Map(current);
  /** In their order. */
  let pending: Naming[] = [];

  function nodeAt(path: string): Node {
    const node = current.get(path);
    if (node === undefined) throw new Error(`${path} was recorded, but not its creation`);
    return node;
  }

  function fileAt(path: string): File {
    const node = nodeAt(path);
    if (node === 'folder') throw new Error(`${path} is no file`);
    return node;
  }

  function name(path: string, node: Node | undefined): void {
    nodeAt(dirname(path));
    put(current, { path, node });
    pending.push({ path, node });
  }

  function sync(path: string): void {
    const node = nodeAt(path);
    if (node !== 'folder') {
      node.durable = written(node.durable, node.pending.splice(0));
      return;
    }
    const isKept = (naming: Naming) => dirname(naming.path) === path;
    for (const naming of pending.filter(isKept)) put(durable, naming);
    pending = pending.filter((naming) => !isKept(naming));
  }

  return {
    /** Does what was recorded. */
    apply(entry: Entry): void {
      if (entry.op === 'create') name(entry.path, { durable: Buffer.alloc(0), pending: [] });
      if (entry.op === 'mkdir') name(entry.path, 'folder');
      if (entry.op === 'unlink') name(entry.path, undefined);
      if (entry.op === 'sync') sync(entry.path);
      // The kernel has reported it once, and takes what was to be written for written.
      if (entry.op === 'failure') fileAt(entry.path).pending.splice(0);
      if (entry.op === 'truncate') fileAt(entry.path).pending.push({ at: entry.size, octets: undefined });
      if (entry.op === 'write') fileAt(entry.path).pending.push(entry);
    },

    /** Writes what is left after a power loss into a folder that exists. */
    loseTo(target: string, { names, sectors, sectorSize }: Survival): void {
      const left = new Map(durable);
      for (const naming of pending.filter(() => random() < names)) put(left, naming);
      // Each folder before what is in it, which is gone with its name.
      for (const path of [...left.keys()].sort()) {
        const [node, place] = [left.get(path), join(target, relative(root, path))];
        if (path === root || !existsSync(dirname(place))) continue;
        if (node === 'folder') mkdirSync(place);
        else if (node !== undefined) {
          const parts = node.pending.flatMap((write) => [...inSectors(write, sectorSize)]);
          const surviving = parts.filter(() => random() < sectors);
          writeFileSync(place, written(Buffer.from(node.durable), surviving));
        }
      }
    },
  };
}

function put(names: Map<string, Node>, { path, node }: Naming): void {
  if (node === undefined) names.delete(path);
  else names.set(path, node);
}

function* inSectors({ at, octets }: Write, sectorSize: number): Iterable<Write> {
  if (octets === undefined) yield { at, octets };
  for (let from = at; octets !== undefined && from < at + octets.length; ) {
    const to = Math.min((Math.floor(from / sectorSize) + 1) * sectorSize, at + octets.length);
    yield { at: from, octets: octets.subarray(from - at, to - at) };
    from = to;
  }
}

/** What writes make of a content, in its own octets if they have the room. What comes in between is zeros. */
function written(content: Buffer, writes: readonly Write[]): Buffer {
  let size = content.length;
  const most = writes.reduce((end, { at, octets }) => Math.max(end, at + (octets?.length ?? 0)), size);
  const all = most > size ? Buffer.concat([content], most) : content;
  for (const { at, octets } of writes) {
    octets?.copy(all, at);
    if (octets === undefined) all.fill(0, at);
    size = octets === undefined ? at : Math.max(size, at + octets.length);
  }
  return all.subarray(0, size);
}

export interface Loss {
  /** What a failure report needs to find the moment again. */
  readonly description: string;
  readonly dataDir: string;
  /** The operations whose responses had left. */
  readonly acknowledged: ReadonlySet<string>;
  remove(): Promise<void>;
}

/** Memory is enough for a folder that is not to survive anything, and spares the disk. */
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** Of what was not synced: none, names only, contents only, all, and some. */
const SURVIVALS = [
  { names: 0, sectors: 0 },
  { names: 1, sectors: 0 },
  { names: 0, sectors: 1 },
  { names: 1, sectors: 1 },
  { names: 0.5, sectors: 0.5 },
  { names: 0.5, sectors: 0.9 },
  { names: 0.9, sectors: 0.1 },
];

/**
 * Yields the folder after a loss at each of a number of moments of the work, in their order: a third of them anywhere, and the
 * others just before and just after a sync, a new name or a response.
 */
export async function* powerLosses(
  { entries, root, dataDir }: Pick<TracedWork, 'entries' | 'root' | 'dataDir'>,
  count: number,
  seed: number,
): AsyncIterable<Loss> {
  const random = generator(seed);
  const decisive = entries.flatMap(({ op }, n) => (op === 'write' ? [] : [n, n + 1]));
  const anyOf = (all: number) => Math.floor(random() * all);
  const moments = Array.from({ length: count }, (_, n) =>
    n % 3 === 0 ? anyOf(entries.length + 1) : (decisive[anyOf(decisive.length)] ?? 0),
  ).sort((a, b) => a - b);

  const disk = lossyDisk(root, random);
  const acknowledged = new Set<string>();
  let done = 0;
  for (const [number, moment] of moments.entries()) {
    for (const entry of entries.slice(done, moment)) {
      if (entry.op === 'response' && entry.status < 300) acknowledged.add(entry.operation);
      disk.apply(entry);
    }
    done = moment;
    const { names = 0, sectors = 0 } = SURVIVALS[number % SURVIVALS.length] ?? {};
    const survival = { names, sectors, sectorSize: number % 2 === 0 ? 512 : 4_096 };
    const target = await mkdtemp(join(PLACE, 'plant-store-loss-'));
    disk.loseTo(target, survival);
    yield {
      description: `seed ${seed}, loss ${number} at entry ${moment} of ${entries.length}, ${JSON.stringify(survival)}`,
      dataDir: join(target, relative(root, dataDir)),
      acknowledged: new Set(acknowledged),
      remove: () => rm(target, { recursive: true, force: true }),
    };
  }
}

/** Mulberry32: the same numbers from 0 to 1 for the same seed. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
