import { PlantStoreError } from '../domain/errors.ts';
import { isSamePlant, type NewPlant } from '../domain/plant.ts';
import { findSameNames, type SameName } from './find-same-names.ts';
import type { PlantStore, Written } from './ports.ts';

/** What became of a plant of a list. */
export type ImportOutcome = StoredOutcome | SameName;

type StoredOutcome = 'created' | 'changed' | 'unchanged' | 'id_taken' | 'id_retired';

interface ImportOptions {
  /** Whether a plant replaces a different one with its id. */
  readonly replaces: boolean;
  /** Whether plants are left out whose names others have. */
  readonly skipsSameNames?: boolean | undefined;
  /** Whether the list is only compared, and nothing is stored. */
  readonly check?: boolean | undefined;
}

interface Imported {
  /** Of each plant; undefined if it was only compared. */
  readonly outcomes: readonly (ImportOutcome | undefined)[];
  /** Whether the names were compared with those of all plants. */
  readonly compared: boolean;
}

/**
 * Stores a list of plants that meet the rules of their fields, and resolves to the outcome of each once all are durable.
 * It is as if they were created, or changed, one after another. A list is short enough to be finished though its client has
 * left: one that has only closed its side would otherwise get no further by sending it again.
 *
 * @throws PlantStoreError `store_unavailable` if the outcome of a plant is not known; any part of it may be done then, and a
 * statement that has timed out may still run. `too_many_names` if they are to be compared with more than that is possible for
 */
type ImportPlants = (list: readonly NewPlant[], options: ImportOptions) => Promise<Imported>;

/** Plants that the store gets together. */
const GROUP = 256;

/** @param now the time in milliseconds */
export function importPlants(plants: Pick<PlantStore, 'write' | 'scan'>, now = () => performance.now()): ImportPlants {
  const sameNamesIn = findSameNames(plants, now);
  return async (list, { replaces, skipsSameNames = false, check = false }) => {
    const same = skipsSameNames ? await sameNamesIn(list) : [];
    if (same === undefined && !check) throw new PlantStoreError('too_many_names');
    const others = list.filter((_plant, index) => same?.[index] === undefined);
    const stored = check ? [] : await store(others, replaces);
    let next = 0;
    return {
      outcomes: list.map((_plant, index) => same?.[index] ?? stored[next++]),
      compared: skipsSameNames && same !== undefined,
    };
  };

  async function store(list: readonly NewPlant[], replaces: boolean): Promise<StoredOutcome[]> {
    const outcomes: StoredOutcome[] = [];
    for (let start = 0; start < list.length; start += GROUP) {
      const group = list.slice(start, start + GROUP);
      const writes = group.map((plant) => ({ id: plant.id, target: plant, adds: true, replaces: () => replaces }));
      // At once: what they found may be large.
      const written = (await plants.write(writes, true)).map(async (one, index) =>
        outcomeOf(await one, group[index] as NewPlant),
      );
      for (const outcome of await Promise.allSettled(written)) {
        if (outcome.status === 'rejected') throw outcome.reason;
        outcomes.push(outcome.value);
      }
    }
    return outcomes;
  }
}

function outcomeOf({ before, after }: Written, plant: NewPlant): StoredOutcome {
  if (before === undefined) return 'created';
  if (before === 'deleted') return 'id_retired';
  if (isSamePlant(before, plant)) return 'unchanged';
  return typeof after === 'object' && isSamePlant(after, plant) ? 'changed' : 'id_taken';
}
