import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { lossyDisk, type Model } from './lossy-disk.ts';
import type { Entry } from './strace-entries.ts';
import type { TracedWork } from './traced-work.ts';

/* The folder of a recorded service as it may be after power losses at many moments. */

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
  work: Pick<TracedWork, 'journal' | 'root' | 'dataDir'>,
  model: Model,
  count: number,
  seed: number,
): AsyncIterable<Loss> {
  const { journal, root, dataDir } = work;
  const random = generator(seed);
  const entries = entriesOf(readFileSync(journal));
  const decisive = entries.flatMap(({ entry }, n) => (entry.op === 'write' || entry.op === 'zeros' ? [] : [n, n + 1]));
  const anyOf = (all: number) => Math.floor(random() * all);
  const moments = Array.from({ length: count }, (_, n) =>
    n % 3 === 0 ? anyOf(entries.length + 1) : (decisive[anyOf(decisive.length)] ?? 0),
  ).sort((a, b) => a - b);

  const disk = lossyDisk(root, model);
  const acknowledged = new Set<string>();
  let done = 0;
  for (const [number, moment] of moments.entries()) {
    for (; done < moment; done++) {
      const { entry, octets } = entries[done] ?? { entry: undefined, octets: undefined };
      if (entry?.op === 'response' && entry.status < 300) acknowledged.add(entry.operation);
      if (entry !== undefined) disk.apply(entry, octets);
    }
    const survival = SURVIVALS[number % SURVIVALS.length] ?? { names: 0, sectors: 0 };
    const sectorSize = number % 2 === 0 ? 512 : 4_096;
    const target = await mkdtemp(join(PLACE, 'plant-store-loss-'));
    disk.loseTo(target, { ...survival, sectorSize, random });
    yield {
      description: `${model}, seed ${seed}, loss ${number} at entry ${moment} of ${entries.length}, ${JSON.stringify({ ...survival, sectorSize })}`,
      dataDir: join(target, relative(root, dataDir)),
      acknowledged: new Set(acknowledged),
      remove: () => rm(target, { recursive: true, force: true }),
    };
  }
}

const LINE_FEED = 10;

export function entriesOf(journal: Buffer): { readonly entry: Entry; readonly octets: Buffer | undefined }[] {
  const entries = [];
  for (let at = 0; at < journal.length; ) {
    const end = journal.indexOf(LINE_FEED, at);
    const entry: Entry = JSON.parse(journal.toString('utf8', at, end));
    at = end + 1;
    const octets = entry.op === 'write' ? journal.subarray(at, at + entry.size) : undefined;
    at += octets?.length ?? 0;
    entries.push({ entry, octets });
  }
  return entries;
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
