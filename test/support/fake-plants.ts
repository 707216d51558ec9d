import type { Ports } from '../../src/application/use-cases.ts';
import type { NewPlant } from '../../src/domain/plant.ts';

/** A repository in memory, held to the same contract as the real ones. */
export function fakePlants(stored = new Map<bigint, NewPlant>()): Ports {
  return {
    async add(plant) {
      const holder = stored.get(plant.id) ?? plant;
      stored.set(plant.id, holder);
      return holder;
    },
  };
}
