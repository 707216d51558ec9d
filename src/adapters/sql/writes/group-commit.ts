import type { PlantRepository } from '../../../application/ports.ts';
import type { Stored } from '../../../domain/plant.ts';
import { type BatchOptions, batch, type Call } from '../batch.ts';
import type { Write, Written } from './phases.ts';
import type { WriteList } from './write.ts';

/** What a database does with lists: each settles the calls of one, and resolves once the next list may take its place. */
interface PlantLists {
  readonly write: WriteList;
  find(list: readonly Call<bigint, Stored>[]): Promise<void>;
}

type SinglePlants = Pick<PlantRepository, 'add' | 'find' | 'replace' | 'remove'>;

/** Ids in a list to find. */
const FOUND_IDS_MAX = 256;

/** Writes and reads of single plants that arrive meanwhile share a statement and a commit. */
export function groupCommit(lists: PlantLists, options: BatchOptions): SinglePlants {
  const write = batch<Write, Written>((take) => lists.write(take), options);
  const find = batch<bigint, Stored>((take) => lists.find(take()), { ...options, maxItems: FOUND_IDS_MAX });

  return {
    add: async (plant) =>
      (await write({ id: plant.id, target: plant, adds: true, precondition: { excludes: 'any' } })).before ?? 'created',
    find,
    replace: async (plant, precondition = {}) =>
      (await write({ id: plant.id, target: plant, adds: false, precondition })).after,
    remove: async (id, precondition = {}) => (await write({ id, target: 'deleted', adds: false, precondition })).after,
  };
}
