import type { CreatePlant } from '../../application/create-plant.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import type { NewPlant } from '../../domain/plant.ts';
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

/** Plants in flight at once: several times the size of a batch, so that batches are full. */
const MAX_IN_FLIGHT = 2_048;

/**
 * Creates every plant of a list, many concurrently: of entries with the same id any one may be first.
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
  let inFlight = 0;
  let awaited = { limit: -1, resolve: () => {} };

  function fail(error: unknown): void {
    failures.push(error);
    failed.resolve();
  }

  function refuse(entry: Entry, reason: unknown): void {
    if (!(reason instanceof PlantStoreError) || reason.code === 'store_unavailable') throw reason;
    reject(entry, reason);
    if (isConflict(reason.code)) tally.conflicting++;
    else tally.invalid++;
  }

  async function create(entry: Entry, plant: NewPlant): Promise<void> {
    inFlight++;
    try {
      await createPlant(plant);
      tally.stored++;
    } catch (error) {
      refuse(entry, error);
    } finally {
      inFlight--;
      if (inFlight <= awaited.limit) awaited.resolve();
    }
  }

  async function drainTo(limit: number): Promise<void> {
    if (inFlight <= limit) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    awaited = { limit, resolve };
    await promise;
  }

  async function createAll(): Promise<void> {
    for await (const entries of list) {
      for (const entry of entries) {
        if (signal.aborted || failures.length > 0) return;
        if (entry.content instanceof PlantStoreError) refuse(entry, entry.content);
        else create(entry, entry.content).catch(fail);
        if (inFlight === MAX_IN_FLIGHT) await drainTo(MAX_IN_FLIGHT / 2);
      }
    }
  }

  const reading = createAll().catch((error) => {
    // An aborted read fails with an error of its own.
    if (!signal.aborted) fail(error);
  });
  // Not `await reading` alone: after a failure, the next lines may never arrive.
  await Promise.race([reading, failed.promise]);
  await drainTo(0);
  if (failures.length > 0) throw failures[0];
}
