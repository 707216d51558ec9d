import { PlantStoreError } from '../domain/errors.ts';
import { checkNewPlant, isSamePlant, type NewPlant, type Plant } from '../domain/plant.ts';
import type { SinglePlants } from './ports.ts';

/**
 * Creates a plant and resolves to it once it is durable. Creating the same record again succeeds and changes nothing.
 *
 * @throws PlantStoreError `invalid_plant` if a field breaks its rule, `id_taken` if the id belongs to a different
 * plant, `id_retired` if it belongs to a deleted one, `store_unavailable` if the port rejects with it.
 */
type CreatePlant = (newPlant: NewPlant) => Promise<Plant>;

export function createPlant(plants: Pick<SinglePlants, 'add'>): CreatePlant {
  return async (newPlant) => {
    checkNewPlant(newPlant);
    const found = await plants.add(newPlant);
    if (found === 'deleted') throw new PlantStoreError('id_retired', conflictMessage(newPlant.id, 'id_retired'));
    if (found !== 'created' && !isSamePlant(found, newPlant)) {
      throw new PlantStoreError('id_taken', conflictMessage(newPlant.id, 'id_taken'));
    }
    const { id: _, ...plant } = newPlant;
    return plant;
  };
}

/** Why a plant cannot be created with an id, in words. */
export function conflictMessage(id: bigint, code: 'id_taken' | 'id_retired'): string {
  return `id ${id} belongs to a ${code === 'id_taken' ? 'different' : 'deleted'} plant`;
}
