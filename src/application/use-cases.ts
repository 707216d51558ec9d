import { type ChangePlant, changePlant, type DeletePlant, deletePlant } from './change-plant.ts';
import type { ChangeLog } from './changes/log.ts';
import { type CountPlants, countPlants } from './count-plants.ts';
import { type CreatePlant, createPlant } from './create-plant.ts';
import { type FindPlant, findPlant } from './find-plant.ts';
import { type ImportPlants, importPlants } from './import-plants.ts';
import { type ListPlants, listPlants } from './list-plants.ts';
import type { PlantRepository } from './ports.ts';

/** Everything that the application does, for the driving adapters. A read without a rule of its own is the port's. */
export interface UseCases {
  readonly createPlant: CreatePlant;
  readonly findPlant: FindPlant;
  readonly changePlant: ChangePlant;
  readonly deletePlant: DeletePlant;
  readonly importPlants: ImportPlants;
  readonly listPlants: ListPlants;
  readonly countPlants: CountPlants;
  readonly listTags: PlantRepository['tags'];
  readonly readChanges: ChangeLog['readChanges'];
}

export function useCases(plants: PlantRepository & Pick<ChangeLog, 'readChanges'>): UseCases {
  return {
    createPlant: createPlant(plants),
    findPlant: findPlant(plants),
    changePlant: changePlant(plants),
    deletePlant: deletePlant(plants),
    importPlants: importPlants(plants),
    listPlants: listPlants(plants),
    countPlants: countPlants(plants),
    listTags: plants.tags,
    readChanges: plants.readChanges,
  };
}
