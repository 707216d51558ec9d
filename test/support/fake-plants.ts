import type { Ports } from '../../src/application/use-cases.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { batchOf } from './plant-lines.ts';

/** A repository in memory, held to the same contract as the real ones. */
export function fakePlants(stored = new Map<bigint, NewPlant>()): Ports {
  const within = ({ from, to, tag }: Parameters<Ports['readBatch']>[0]) =>
    [...stored.values()]
      .filter((plant) => plant.id >= from && plant.id <= to && (tag === undefined || plant.tag === tag))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    async add(plant) {
      const holder = stored.get(plant.id) ?? plant;
      stored.set(plant.id, holder);
      return holder;
    },
    find: async (id) => stored.get(id),
    async readBatch(range, count) {
      const all = within(range);
      let size = 0;
      const plants = all.slice(0, count).filter(({ name, tag = '' }, index) => {
        size += Buffer.byteLength(name + tag);
        return index === 0 || size <= 1024 ** 2;
      });
      return batchOf(plants, plants.length === all.length);
    },
    readIds: async (range, count) =>
      within(range)
        .map(({ id }) => id)
        .slice(0, count),
  };
}
