import { describe } from '@jest/globals';
import type { Repositories } from '../support/plants/plant-repositories.ts';
import { addsPlants } from './plant-repository/adds-plants.ts';
import { changesPlants } from './plant-repository/changes-plants.ts';
import { followsChanges, refusesToFollow } from './plant-repository/follows-changes.ts';
import { listsPlants } from './plant-repository/lists-plants.ts';
import { listsTags } from './plant-repository/lists-tags.ts';
import { purgesPlants } from './plant-repository/purges-plants.ts';
import { searchesPlants } from './plant-repository/searches-plants.ts';

/**
 * What PlantRepository of src/application/ports.ts promises, held against an implementation.
 *
 * @param open makes an empty one
 * @param openAlone the same where no transaction of another test holds back the feed of changes
 */
export function plantRepositoryContract(
  name: string,
  open: () => Promise<Repositories>,
  openAlone: () => Promise<Repositories>,
): void {
  const isOnCitus = name === 'Citus';
  describe(`the repository on ${name}`, () => {
    addsPlants(open);
    changesPlants(open);
    listsPlants(open);
    searchesPlants(open);
    listsTags(open, openAlone, !isOnCitus);
    if (isOnCitus) return refusesToFollow(open);
    followsChanges(openAlone);
    // It is no port of an operation, so the fake has none.
    if (name !== 'the fake') purgesPlants(openAlone, name === 'Postgres' ? `interval '1 hour'` : '3600000');
  });
}
