import type { PlantRepository } from '../../application/ports.ts';
import type { Stored } from '../../domain/plant.ts';
import { type BatchOptions, batch, type Entry } from '../sql/batch.ts';
import type { Write, Written } from './plants/write-phases.ts';

/** What Postgres does with lists: each settles the entries of one, and resolves once the next list may take its place. */
interface PlantLists {
  write(list: readonly Entry<Write, Written>[]): Promise<void>;
  find(list: readonly Entry<bigint, Stored>[]): Promise<void>;
}

type SinglePlants = Pick<PlantRepository, 'add' | 'find' | 'replace' | 'remove'>;

/** Ids in a list to find. */
const FOUND_IDS = 256;

/** Writes and reads of single plants that arrive meanwhile share a statement and a commit. */
export function groupCommit(lists: PlantLists, options: BatchOptions): SinglePlants {
  const write = batch(lists.write, options);
  const find = batch(lists.find, { ...options, maxItems: FOUND_IDS });

  return {
    add: async (plant) => (await write({ id: plant.id, target: plant, adds: true })).before ?? 'created',
    find,
    replace: async (plant, replaces = {}) =>
      (await write({ id: plant.id, target: plant, adds: false, replaces })).after,
    remove: async (id, replaces = {}) => (await write({ id, target: 'deleted', adds: false, replaces })).after,
  };
}
