import type { PlantRepository } from '../../../application/ports.ts';
import { type Added, addition, type ValidPlant } from '../../../domain/plant.ts';
import type { Precondition } from '../../../domain/precondition.ts';
import type { BatchOptions } from '../batch.ts';
import { withDeadline } from '../run.ts';
import type { Write, Written } from './phases.ts';
import type { WriteList } from './write.ts';

/** Plants in one statement: as many as clients send in a request, so that few commits wait for the disk. */
const LIST_PLANTS_MAX = 1_000;

/**
 * Adds lists of plants in the background, one statement after another.
 *
 * @param timeout milliseconds until the plants of a statement are given up
 */
export function listAdder(write: WriteList, { timeout }: Pick<BatchOptions, 'timeout'>): PlantRepository['addAll'] {
  async function addPart(plants: readonly ValidPlant[], replaces: boolean): Promise<Added[]> {
    const until = performance.now() + timeout;
    const precondition: Precondition = replaces ? {} : { excludes: 'any' };
    const calls = plants.map((plant) => {
      const item: Write = { id: plant.id, target: plant, adds: true, precondition };
      return { item, until, ...Promise.withResolvers<Written>() };
    });
    const outcomes = Promise.allSettled(calls.map(({ promise }) => promise));
    void write(() => calls, 'backgroundWrites');
    return (await withDeadline(outcomes, timeout)).map((outcome, index) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      return addition(outcome.value.before, plants[index] as ValidPlant, replaces);
    });
  }

  return async (plants, replaces) => {
    const outcomes: Added[] = [];
    for (const part of withEachIdOnce(plants)) outcomes.push(...(await addPart(part, replaces)));
    return outcomes;
  };
}

/**
 * Splits a list into parts in which each id occurs once: the plants of a part that fails are tried again in any order, and of
 * several plants with an id the last one must win.
 */
function* withEachIdOnce(plants: readonly ValidPlant[]): Generator<ValidPlant[]> {
  const part = new Map<bigint, ValidPlant>();
  for (const plant of plants) {
    if (part.size === LIST_PLANTS_MAX || part.has(plant.id)) {
      yield [...part.values()];
      part.clear();
    }
    part.set(plant.id, plant);
  }
  if (part.size > 0) yield [...part.values()];
}
