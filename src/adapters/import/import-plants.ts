import type { CreatePlant } from '../../application/create-plant.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import type { NewPlant } from '../../domain/plant.ts';
import type { Entry } from './entry.ts';

/** What has become of the entries so far. */
export interface Tally {
  /** The store has them: created now, or the same record was there already. */
  held: number;
  /** Their id belongs to a different plant. */
  conflicting: number;
  /** They are no plants. */
  invalid: number;
}

export function refusedIn({ conflicting, invalid }: Tally): number {
  return conflicting + invalid;
}

export function entriesIn(tally: Tally): number {
  return tally.held + refusedIn(tally);
}

interface ImportOptions {
  readonly createPlant: CreatePlant;
  /** Keeps an entry that was refused, and why. */
  readonly reject: (entry: Entry, reason: PlantStoreError) => void;
  /** Counted up as the import goes on. */
  readonly tally: Tally;
  /** Ends the import in order: no more is read, what is under way is finished. */
  readonly signal: AbortSignal;
}

/** Plants under way at once: several times what a statement takes, so that none has to leave half empty. */
const MOST_IN_FLIGHT = 2_048;

/**
 * Creates every plant of a list, many at once: of entries with the same id any one may come first.
 *
 * @throws what reading the list or the use case throws, `store_unavailable` included, once nothing is under way any
 * more; the tally then counts all that was done
 */
export async function importPlants(
  list: AsyncIterable<readonly Entry[]>,
  { createPlant, reject, tally, signal }: ImportOptions,
): Promise<void> {
  const failures: unknown[] = [];
  const failed = Promise.withResolvers<void>();
  let inFlight = 0;
  let awaited = { most: -1, resolve: () => {} };

  function fail(error: unknown): void {
    failures.push(error);
    failed.resolve();
  }

  function refuse(entry: Entry, reason: unknown): void {
    if (!(reason instanceof PlantStoreError) || reason.code === 'store_unavailable') throw reason;
    reject(entry, reason);
    if (reason.code === 'id_taken') tally.conflicting++;
    else tally.invalid++;
  }

  async function create(entry: Entry, plant: NewPlant): Promise<void> {
    inFlight++;
    try {
      await createPlant(plant);
      tally.held++;
    } catch (error) {
      refuse(entry, error);
    } finally {
      inFlight--;
      if (inFlight <= awaited.most) awaited.resolve();
    }
  }

  async function untilInFlight(most: number): Promise<void> {
    if (inFlight <= most) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    awaited = { most, resolve };
    await promise;
  }

  async function createAll(): Promise<void> {
    for await (const entries of list) {
      for (const entry of entries) {
        if (signal.aborted || failures.length > 0) return;
        if (entry.content instanceof PlantStoreError) refuse(entry, entry.content);
        else create(entry, entry.content).catch(fail);
        if (inFlight === MOST_IN_FLIGHT) await untilInFlight(MOST_IN_FLIGHT / 2);
      }
    }
  }

  const reading = createAll().catch((error) => {
    // What is being read when the signal comes ends with an error of its own.
    if (!signal.aborted) fail(error);
  });
  // The next lines may never come.
  await Promise.race([reading, failed.promise]);
  await untilInFlight(0);
  if (failures.length > 0) throw failures[0];
}
