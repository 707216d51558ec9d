import { type PlantBatch, type PlantRange, type PlantRepository, rangeAfter } from '../../../application/ports.ts';
import type { NewPlant } from '../../../domain/plant.ts';

/** What one statement reads. It scans some thousand rows at most, so it may find nothing although there is more. */
interface PartReads {
  /** @param count plants, at most */
  plants(range: PlantRange, count: number): Promise<PlantBatch>;
  /** @param most plants to count, at most. @returns also the id after which the range continues, if it does */
  count(range: PlantRange, most: number): Promise<{ readonly count: number } & Pick<PlantBatch, 'next'>>;
}

/** A read ends early after this time: a search takes long, and so do many deleted plants. */
const READ_MS_MAX = 1_000;

/** The plants of a longer list are read in several calls. */
const LIST_PLANTS_MAX = 2_000;

export function readsInParts(read: PartReads): Pick<PlantRepository, 'list' | 'count'> {
  return {
    async list(range, count, signal) {
      const length = Math.min(count, LIST_PLANTS_MAX);
      // One plant more shows whether there are others. A search might take long to find it.
      const most = range.name === undefined ? length + 1 : length;
      const plants: NewPlant[] = [];
      const next = await readParts<bigint>(undefined, signal, async (after) => {
        const part = await read.plants(restOf(range, after), most - plants.length);
        plants.push(...part.plants);
        return { next: part.next, isEnough: plants.length === most };
      });
      return plants.length > length
        ? { plants: plants.slice(0, length), next: plants[length - 1]?.id }
        : { plants, next };
    },

    async count(range, most, signal) {
      let count = 0;
      const next = await readParts<bigint>(undefined, signal, async (after) => {
        const part = await read.count(restOf(range, after), most + 1 - count);
        count += part.count;
        return { next: part.next, isEnough: count > most };
      });
      return { count: Math.min(count, most), isExact: count <= most && next === undefined };
    },
  };
}

/** Reads part after part until there is enough, or no more, or the time is over. @returns where to continue */
export async function readParts<Place>(
  start: Place | undefined,
  signal: AbortSignal | undefined,
  read: (after: Place | undefined) => Promise<{ readonly next: Place | undefined; readonly isEnough: boolean }>,
): Promise<Place | undefined> {
  const end = performance.now() + READ_MS_MAX;
  for (let after = start; ; ) {
    const { next, isEnough } = await read(after);
    if (next === undefined || isEnough || signal?.aborted || performance.now() >= end) return next;
    after = next;
  }
}

function restOf(range: PlantRange, after: bigint | undefined): PlantRange {
  return after === undefined ? range : rangeAfter(range, after);
}
