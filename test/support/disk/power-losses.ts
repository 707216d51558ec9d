import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { type Random, randomOf } from '../../simulation/kernel.ts';
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

interface Node {
  readonly isFolder: boolean;
  durable: Buffer;
  readonly pending: Write[];
}

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

const newNode = (isFolder: boolean): Node => ({ isFolder, durable: Buffer.alloc(0), pending: [] });

/** @param root the recorded folder, which is empty at first */
function lossyDisk(root: string, random: Random) {
  const current = new Map([[root, newNode(true)]]);
  const durable = new Map(current);
  /** In their order. */
  let pending: Naming[] = [];

  function nodeAt(path: string): Node {
    const node = current.get(path);
    if (node === undefined) throw new Error(`${path} was recorded, but not its creation`);
    return node;
  }

  function sync(path: string): void {
    const node = nodeAt(path);
    node.durable = written(node.durable, node.pending.splice(0));
    const isKept = (naming: Naming) => dirname(naming.path) === path;
    for (const naming of pending.filter(isKept)) put(durable, naming);
    pending = pending.filter((naming) => !isKept(naming));
  }

  return {
    /** Does what was recorded. */
    apply(entry: Entry): void {
      if (entry.op === 'create' || entry.op === 'mkdir' || entry.op === 'unlink') {
        nodeAt(dirname(entry.path));
        const naming = { path: entry.path, node: entry.op === 'unlink' ? undefined : newNode(entry.op === 'mkdir') };
        put(current, naming);
        pending.push(naming);
      }
      if (entry.op === 'sync') sync(entry.path);
      // The kernel has reported it once, and takes what was to be written for written.
      if (entry.op === 'failure') nodeAt(entry.path).pending.splice(0);
      if (entry.op === 'truncate') nodeAt(entry.path).pending.push({ at: entry.size, octets: undefined });
      if (entry.op === 'write') nodeAt(entry.path).pending.push(entry);
    },

    /** Writes what is left after a power loss into a folder that exists. */
    loseTo(target: string, { names, sectors, sectorSize }: Survival): void {
      const left = new Map(durable);
      for (const naming of pending.filter(() => random.chance(names))) put(left, naming);
      // Each folder before what is in it, which is gone with its name.
      for (const [path, node] of [...left].sort(([a], [b]) => (a < b ? -1 : 1))) {
        const place = join(target, relative(root, path));
        if (path === root || !existsSync(dirname(place))) continue;
        const parts = node.pending.flatMap((write) => [...inSectors(write, sectorSize)]);
        if (node.isFolder) mkdirSync(place);
        else
          writeFileSync(
            place,
            written(
              Buffer.from(node.durable),
              parts.filter(() => random.chance(sectors)),
            ),
          );
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
}

/** Memory is enough for a folder that is not to survive anything, and spares the disk. */
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** How much of what was not synced is there, of names and of contents: from nothing to all. */
const SURVIVALS = [0, 0.1, 0.5, 0.9, 1];

/**
 * Yields the folder after a loss, until it is asked for the next one, at each of a number of moments of the work, in their
 * order: a third of them anywhere, and the others just before and just after a sync, a new name or a response.
 */
export async function* powerLosses(
  { entries, root, dataDir }: Pick<TracedWork, 'entries' | 'root' | 'dataDir'>,
  count: number,
  seed: number,
): AsyncIterable<Loss> {
  const random = randomOf(`${seed}`);
  const decisive = entries.flatMap(({ op }, n) => (op === 'write' ? [] : [n, n + 1]));
  const moments = Array.from({ length: count }, (_, n) =>
    n % 3 === 0 ? random.int(entries.length + 1) : random.pick(decisive),
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
    const [names, sectors] = [random.pick(SURVIVALS), random.pick(SURVIVALS)];
    const survival = { names, sectors, sectorSize: random.pick([512, 4_096]) };
    const target = await mkdtemp(join(PLACE, 'plant-store-loss-'));
    disk.loseTo(target, survival);
    yield {
      description: `seed ${seed}, loss ${number} at entry ${moment} of ${entries.length}, ${JSON.stringify(survival)}`,
      dataDir: join(target, relative(root, dataDir)),
      acknowledged: new Set(acknowledged),
    };
    await rm(target, { recursive: true, force: true });
  }
}
