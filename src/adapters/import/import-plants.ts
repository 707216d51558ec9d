import type { CreatePlant } from '../../application/create-plant.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { type Entry, isConflict } from './entry.ts';

/** The outcomes of the entries so far. */
export interface Tally {
  /** Created now, or the same record was already there. */
  stored: number;
  /** The id belongs to a different plant. */
  conflicting: number;
  /** Not a valid plant. */
  invalid: number;
}

export function refusedCount({ conflicting, invalid }: Tally): number {
  return conflicting + invalid;
}

export function entryCount(tally: Tally): number {
  return tally.stored + refusedCount(tally);
}

interface ImportOptions {
  readonly createPlant: CreatePlant;
  /** Called with each refused entry and the reason. */
  readonly reject: (entry: Entry, reason: PlantStoreError) => void;
  /** Incremented during the import. */
  readonly tally: Tally;
  /** Ends the import gracefully: no more is read, and the plants in flight are finished. */
  readonly signal: AbortSignal;
}

/**
 * Creates every plant of a list. The plants of two batches are created concurrently, so that statements are full while
 * the next batch is read: of entries with the same id any one may be first.
 *
 * @throws what reading the list or the use case throws, `store_unavailable` included, once no plant is in flight; the
 * tally is then complete
 */
export async function importPlants(
  list: AsyncIterable<readonly Entry[]>,
  { createPlant, reject, tally, signal }: ImportOptions,
): Promise<void> {
  const failures: unknown[] = [];
  const failed = Promise.withResolvers<void>();

  function fail(error: unknown): void {
    failures.push(error);
    failed.resolve();
  }

  async function create(entry: Entry): Promise<void> {
    try {
      if (entry.content instanceof PlantStoreError) throw entry.content;
      await createPlant(entry.content);
      tally.stored++;
    } catch (error) {
      if (!(error instanceof PlantStoreError) || error.code === 'store_unavailable') throw error;
      reject(entry, error);
      if (isConflict(error)) tally.conflicting++;
      else tally.invalid++;
    }
  }

  async function createBatch(entries: readonly Entry[], previous: Promise<void>): Promise<void> {
    await Promise.all(entries.map((entry) => create(entry).catch(fail)));
    await previous;
  }

  let inFlight = Promise.resolve();
  async function createAll(): Promise<void> {
    for await (const entries of list) {
      if (signal.aborted || failures.length > 0) return;
      const previous = inFlight;
      inFlight = createBatch(entries, previous);
      await previous;
    }
  }

  const reading = createAll().catch((error) => {
    // An aborted read fails with an error of its own.
    if (!signal.aborted) fail(error);
  });
  // Not `await reading` alone: after a failure, the next lines may never arrive.
  await Promise.race([reading, failed.promise]);
  await inFlight;
  if (failures.length > 0) throw failures[0];
}
