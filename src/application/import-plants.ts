import { PlantStoreError } from '../domain/errors.ts';
import { isSamePlant, type NewPlant } from '../domain/plant.ts';
import type { AddPlant, UpdatePlant } from './ports.ts';

/** What became of a plant of a list. */
export type ImportOutcome = 'created' | 'changed' | 'unchanged' | 'id_taken' | 'id_retired';

interface ImportOptions {
  /** Whether a plant replaces a different one with its id. */
  readonly replaces: boolean;
  /** Aborts when nobody waits for the outcomes any more. */
  readonly signal: AbortSignal;
}

/**
 * Stores a list of plants that meet the rules of their fields, and resolves to the outcome of each once all are durable.
 * It is as if they were created, or changed, one after another. Of plants with one id only the first is stored, or the
 * last if it replaces others.
 *
 * @throws PlantStoreError `store_unavailable` if the outcome of a plant is not known, or the signal has aborted before all
 * was done. Any part of it may be done then; at most a group that awaits its turn still begins, and a statement whose call
 * has timed out may still run
 */
export type ImportPlants = (list: readonly NewPlant[], options: ImportOptions) => Promise<ImportOutcome[]>;

/** In the order of the list, as are their outcomes. */
type PlantsOfOneId = readonly [NewPlant, ...NewPlant[]];

/** Plants that the store gets together. */
const GROUP = 256;

/** @param othersWrites how many plants others have begun to write so far */
export function importPlants(plants: AddPlant & UpdatePlant, othersWrites: () => number): ImportPlants {
  const inTurn = groupTurns(othersWrites);

  async function keep([first, ...others]: PlantsOfOneId): Promise<ImportOutcome[]> {
    const found = await plants.add(first);
    const holder = found === 'created' ? first : found;
    const outcomeOf = (plant: NewPlant) => {
      if (holder === 'deleted') return 'id_retired';
      return isSamePlant(holder, plant) ? 'unchanged' : 'id_taken';
    };
    return [found === 'created' ? found : outcomeOf(first), ...others.map(outcomeOf)];
  }

  async function replace(list: PlantsOfOneId): Promise<ImportOutcome[]> {
    const last = list.at(-1) ?? list[0];
    const found = await plants.add(last);
    const isReplaced = typeof found === 'object' && !isSamePlant(found, last);
    const stored = isReplaced ? await plants.replace(last) : found;
    if (stored === undefined) throw new PlantStoreError('store_unavailable', `plant ${last.id} was purged meanwhile`);
    if (stored === 'deleted') return list.map(() => 'id_retired');
    return list.map((plant, index) => {
      const before = list[index - 1] ?? found;
      if (typeof before === 'string') return 'created';
      return isSamePlant(before, plant) ? 'unchanged' : 'changed';
    });
  }

  return async (list, { replaces, signal }) => {
    const store = replaces ? replace : keep;
    const outcomes = new Map<NewPlant, ImportOutcome>();
    const waiting = [...Map.groupBy(list, ({ id }) => id).values()];
    const failures: unknown[] = [];

    async function storeOf(same: readonly NewPlant[]): Promise<void> {
      try {
        const own = await store(same as PlantsOfOneId);
        for (const [index, plant] of same.entries()) outcomes.set(plant, own[index] as ImportOutcome);
      } catch (error) {
        failures.push(error);
        waiting.length = 0;
      }
    }
    async function storeGroups(): Promise<void> {
      while (waiting.length > 0) {
        await inTurn(() => waiting.splice(0, GROUP).map(storeOf));
        // Checked after a group, so that a client that has half-closed its connection still gets its response if this was
        // the last group.
        if (signal.aborted) return;
      }
    }

    // While a group is with the store, the service prepares another.
    await Promise.all([storeGroups(), storeGroups()]);
    if (failures.length > 0) throw failures[0];
    if (waiting.length > 0) throw new PlantStoreError('store_unavailable', 'the client has left');
    return list.map((plant) => outcomes.get(plant) as ImportOutcome);
  };
}

/**
 * Lets groups of all imports into the store in turn: two at once or, while others write, one, with a pause after it that
 * takes as long. With two groups, or without the pause, creates of others keep a fifth to a half of their rate.
 */
function groupTurns(othersWrites: () => number) {
  const waiting: (() => void)[] = [];
  let running = 0;
  /** Whether others have written during the last group. */
  let isShared = false;

  function begin(): void {
    while (waiting.length > 0 && running < (isShared ? 1 : 2)) {
      running++;
      waiting.shift()?.();
    }
  }

  return async (work: () => readonly Promise<void>[]): Promise<void> => {
    // Read before waiting, since others may write during the pause that follows another group.
    const before = othersWrites();
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      begin();
    });
    const start = performance.now();
    await Promise.all(work());
    isShared = othersWrites() !== before;
    if (isShared) await new Promise((resolve) => setTimeout(resolve, performance.now() - start));
    running--;
    if (running === 0 && waiting.length === 0) isShared = false;
    begin();
  };
}
