import type { ChangeLog } from '../../../src/application/changes/log.ts';
import type { PlantRepository } from '../../../src/application/ports.ts';
import type { NewPlant, Stored } from '../../../src/domain/plant.ts';
import { fingerprintOf, type Precondition } from '../../../src/domain/precondition.ts';

/** What tests give a store without going through the use cases, which alone check plants. */
interface Unchecked {
  add(plant: NewPlant): Promise<'created' | NewPlant | 'deleted'>;
  replace(plant: NewPlant, precondition?: Precondition): Promise<Stored | 'unmet'>;
  addAll(plants: readonly NewPlant[], replaces: boolean): Promise<readonly Stored[]>;
}

export type UncheckedPlants = Omit<PlantRepository, keyof Unchecked> & Unchecked & Pick<ChangeLog, 'readChanges'>;

/** The precondition that what is stored is this. */
export function is(plant: NewPlant) {
  return { matches: [fingerprintOf(plant)] };
}
