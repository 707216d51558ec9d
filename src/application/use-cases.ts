import { changePlant, deletePlant } from './change-plant.ts';
import { countPlants } from './count-plants.ts';
import { createPlant } from './create-plant.ts';
import { findPlant } from './find-plant.ts';
import { importPlants } from './import-plants.ts';
import { listPlants } from './list-plants.ts';
import { listTags } from './list-tags.ts';
import type { PlantRepository } from './ports.ts';

/** Everything the application does, for the driving adapters. */
export function useCases(plants: PlantRepository) {
  return {
    createPlant: createPlant(plants),
    findPlant: findPlant(plants),
    changePlant: changePlant(plants),
    deletePlant: deletePlant(plants),
    importPlants: importPlants(plants),
    listPlants: listPlants(plants),
    countPlants: countPlants(plants),
    listTags: listTags(plants),
    readChanges: plants.readChanges,
  };
}

export type UseCases = ReturnType<typeof useCases>;
