import { conditionNotMet } from './change-plant.ts';
import { requirePlant } from './find-plant.ts';
import type { Condition, UpdatePlant } from './ports.ts';

/**
 * Deletes the plant that has the id, and resolves once that is durable. Its id stays taken, so that no late retry of its
 * creation brings it back. Deleting it again succeeds and changes nothing, whatever the condition.
 *
 * @param condition which plant may be deleted; undefined for any
 * @throws PlantStoreError `plant_not_found` if no plant ever had it, `plant_differs` if the condition is not met,
 * `store_unavailable` as the port does
 */
export type DeletePlant = (id: bigint, condition?: Condition) => Promise<void>;

export function deletePlant(plants: Pick<UpdatePlant, 'remove'>): DeletePlant {
  return async (id, condition) => {
    const stored = await plants.remove(id, condition);
    if (stored === 'deleted') return;
    requirePlant(id, stored);
    throw conditionNotMet(id);
  };
}
