import { PlantStoreError } from '../domain/errors.ts';
import type { Added, ValidPlant } from '../domain/plant.ts';
import { findSameNames, type SameName } from './find-same-names.ts';
import type { PlantRepository } from './ports.ts';

/** What became of a plant of a list. */
export type ImportOutcome = Added | SameName;

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
 * Stores a list of plants, and resolves to the outcome of each once all are durable. It is as if they were created, or
 * changed, one after another. A list is short enough to be finished though its client has left: one that has only closed its
 * side would otherwise get no further by sending it again.
 *
 * @throws PlantStoreError `store_unavailable` if the outcome of a plant is not known; any part of it may be done then, and a
 * statement that has timed out may still run. `too_many_names` if they are to be compared with more than that is possible for
 */
type ImportPlants = (list: readonly ValidPlant[], options: ImportOptions) => Promise<Imported>;

export function importPlants(plants: Pick<PlantRepository, 'addAll' | 'list'>): ImportPlants {
  const sameNamesIn = findSameNames(plants);
  return async (list, { replaces, skipsSameNames = false, check = false }) => {
    const same = skipsSameNames ? await sameNamesIn(list) : [];
    if (same === undefined && !check) throw new PlantStoreError('too_many_names');
    const others = list.filter((_plant, index) => same?.[index] === undefined);
    const stored = check ? [] : await plants.addAll(others, replaces);
    let next = 0;
    return {
      outcomes: list.map((_plant, index) => same?.[index] ?? stored[next++]),
      compared: skipsSameNames && same !== undefined,
    };
  };
}
