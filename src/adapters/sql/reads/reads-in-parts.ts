import { type PlantBatch, type PlantRange, type PlantRepository, rangeAfter } from '../../../application/ports.ts';

/** What one statement reads. It looks at some thousand rows, so it may find nothing although there are more. */
interface PartReads {
  /** @param count plants, at most */
  plants(range: PlantRange, count: number): Promise<PlantBatch>;
  /** @param most plants to count, at most. @returns also the id after which the range goes on, if it does */
  count(range: PlantRange, most: number): Promise<{ readonly count: number } & Pick<PlantBatch, 'next'>>;
}

/** Milliseconds after which a read ends early: a search takes long, and so do many deleted plants. */
const TIME = 1_000;

/** Plants that a longer list has at once. */
const BATCH = 2_000;

/** Whether a read that begins now must end early. @param now the time in milliseconds */
export function timeLimit(signal: AbortSignal | undefined, now = () => performance.now()): () => boolean {
  const end = now() + TIME;
  return () => now() >= end || signal?.aborted === true;
}

/** Reads part after part until there is enough. */
export function readsInParts(read: PartReads, now?: () => number): Pick<PlantRepository, 'list' | 'count'> {
  return {
    async list(range, count, signal) {
      const isOver = timeLimit(signal, now);
      const wanted = Math.min(count, BATCH);
      // One more shows whether there are others. A search may have to go on for long to find it.
      const most = range.name === undefined ? wanted + 1 : wanted;
      let found: PlantBatch['plants'] = [];
      for (let from = range; ; ) {
        const { plants, next } = await read.plants(from, most - found.length);
        found = found.length === 0 ? plants : [...found, ...plants];
        if (found.length > wanted) return { plants: found.slice(0, wanted), next: found[wanted - 1]?.id };
        if (next === undefined || found.length === most || isOver()) return { plants: found, next };
        from = rangeAfter(from, next);
      }
    },

    async count(range, most, signal) {
      const isOver = timeLimit(signal, now);
      let count = 0;
      for (let from = range; ; ) {
        const { next, ...part } = await read.count(from, most + 1 - count);
        count += part.count;
        if (count > most) return { count: most, isExact: false };
        if (next === undefined || isOver()) return { count, isExact: next === undefined };
        from = rangeAfter(from, next);
      }
    },
  };
}
