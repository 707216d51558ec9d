import { ATTEMPTS, type Condition, changedTooOften, requireCondition } from './change-plant.ts';
import { existing } from './find-plant.ts';
import type { ChangePlant, FindPlant } from './ports.ts';

/**
 * Deletes the plant that has the id, and resolves once that is durable. Its id stays taken, so that no late retry of its
 * creation brings it back. Deleting it again succeeds and changes nothing, whatever the condition.
 *
 * @param condition which plant may be deleted; undefined for any
 * @throws PlantStoreError `plant_not_found` if there never was one, `plant_differs` if the condition is not met,
 * `store_unavailable` as the port does, or if others change it all the time
 */
export type DeletePlant = (id: bigint, condition?: Condition) => Promise<void>;

export function deletePlant(plants: ChangePlant & FindPlant): DeletePlant {
  return async (id, condition) => {
    let expected = condition && (await plants.find(id));
    // Deleting what another client may create now would ignore the condition.
    if (condition !== undefined && expected === undefined) existing(id, expected);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (typeof expected === 'object') requireCondition(expected, condition);
      const stored = await plants.remove(id, expected);
      if (stored === 'deleted') return;
      // Somebody else has changed it meanwhile.
      expected = existing(id, stored);
    }
    throw changedTooOften(id);
  };
}
