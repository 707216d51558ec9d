import type { PlantRange } from '../../../src/application/ports.ts';
import { rangeAfter } from '../../../src/application/ports.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { forAllTests } from '../../support/lifetimes.ts';
import type { Repositories } from '../../support/plants/plant-repositories.ts';

export type Open = () => Promise<Repositories>;

/** Repositories over the same plants, none at first, for all tests of the `describe` around this. */
export function opened(open: Open) {
  const subject = forAllTests(open);
  const plants = forAllTests(async () => subject.instances[0]);
  /** The instances in turn. */
  const instance = (n: number) => subject.instances[n % subject.instances.length] ?? plants;
  const addAll = (all: readonly NewPlant[]) => Promise.all(all.map((each, n) => instance(n).add(each)));

  /** What is read of a range until there is no more, in lists of at most so many plants. */
  async function walk(range: PlantRange, count: number): Promise<NewPlant[][]> {
    const lists: NewPlant[][] = [];
    for (let part = range; ; ) {
      const { plants: found, next } = await plants.list(part, count);
      lists.push([...found]);
      if (next === undefined) return lists;
      part = rangeAfter(part, next);
    }
  }
  const all = async (range: PlantRange, count = 1_000) => (await walk(range, count)).flat();
  return { subject, plants, instance, addAll, walk, all };
}
