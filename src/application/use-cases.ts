import { changePlant } from './change-plant.ts';
import { createPlant } from './create-plant.ts';
import { deletePlant } from './delete-plant.ts';
import { findPlant } from './find-plant.ts';
import { importPlants } from './import-plants.ts';
import { listPlants } from './list-plants.ts';
import type * as ports from './ports.ts';

/** Everything the use cases need from driven adapters. */
export type Ports = ports.AddPlant & ports.LoadPlant & ports.UpdatePlant & ports.ReadPlants & ports.ChangeFeed;

/** Everything the application does, for the driving adapters. */
export function useCases(plants: Ports) {
  let writes = 0;
  const counted = <Args extends unknown[], Result>(write: (...args: Args) => Result) => {
    return (...args: Args): Result => {
      writes++;
      return write(...args);
    };
  };
  const updates = { replace: counted(plants.replace), remove: counted(plants.remove) };
  return {
    createPlant: createPlant({ add: counted(plants.add) }),
    findPlant: findPlant(plants),
    changePlant: changePlant(updates),
    deletePlant: deletePlant(updates),
    importPlants: importPlants(plants, () => writes),
    listPlants: listPlants(plants),
    readChanges: (query: ports.ChangesQuery) => plants.readChanges(query),
  };
}

export type UseCases = ReturnType<typeof useCases>;
