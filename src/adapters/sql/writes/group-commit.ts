import type { PlantRepository } from '../../../application/ports.ts';
import { type BatchOptions, batch } from '../batch.ts';
import type { Write, Written } from './phases.ts';
import type { WriteList } from './write.ts';

/** Group commit: writes of single plants that arrive while another list runs share a statement and a commit. */
export function groupCommit(
  writeList: WriteList,
  options: BatchOptions,
): Pick<PlantRepository, 'add' | 'replace' | 'remove'> {
  const write = batch<Write, Written>((take) => writeList(take), options);
  return {
    add: async (plant) =>
      (await write({ id: plant.id, target: plant, adds: true, precondition: { excludes: 'any' } })).before ?? 'created',
    replace: async (plant, precondition = {}) =>
      (await write({ id: plant.id, target: plant, adds: false, precondition })).after,
    remove: async (id, precondition = {}) => (await write({ id, target: 'deleted', adds: false, precondition })).after,
  };
}
