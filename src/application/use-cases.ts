import { changePlant } from './change-plant.ts';
import { createPlant } from './create-plant.ts';
import { deletePlant } from './delete-plant.ts';
import { findPlant } from './find-plant.ts';
import { importPlants } from './import-plants.ts';
import { listPlants } from './list-plants.ts';
import type { AddPlant, ChangeFeed, LoadPlant, PlantStore, UpdatePlant } from './ports.ts';

/** Everything the use cases need from driven adapters. */
export type Ports = AddPlant & LoadPlant & UpdatePlant & Pick<PlantStore, 'write' | 'scan'> & ChangeFeed;

/** Everything the application does, for the driving adapters. */
export function useCases(plants: Ports) {
  return {
    createPlant: createPlant(plants),
    findPlant: findPlant(plants),
    changePlant: changePlant(plants),
    deletePlant: deletePlant(plants),
    importPlants: importPlants(plants),
    listPlants: listPlants(plants),
    readChanges: plants.readChanges,
  };
}

export type UseCases = ReturnType<typeof useCases>;
