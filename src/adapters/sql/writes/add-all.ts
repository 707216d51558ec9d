import type { PlantRepository } from '../../../application/ports.ts';
import { type Added, addition, type ValidPlant } from '../../../domain/plant.ts';
import type { Precondition } from '../../../domain/precondition.ts';
import { withDeadline } from '../run.ts';
import type { Write, Written } from './phases.ts';
import type { WriteList } from './write.ts';

interface AddOptions {
  /** Plants in one statement, at most. */
  readonly batchRows: number;
  /** Milliseconds until the plants of a statement are given up. */
  readonly timeout: number;
}

/** Adds lists of plants in the background, one statement after another. */
export function listAdder(write: WriteList, { batchRows, timeout }: AddOptions): PlantRepository['addAll'] {
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
    for (const part of withEachIdOnce(plants, batchRows)) outcomes.push(...(await addPart(part, replaces)));
    return outcomes;
  };
}

/**
 * Splits a list into parts in which each id occurs once: the plants of a part that fails are tried again in any order, and of
 * several plants with an id the last one must win.
 */
function* withEachIdOnce(plants: readonly ValidPlant[], rows: number): Generator<ValidPlant[]> {
  const part = new Map<bigint, ValidPlant>();
  for (const plant of plants) {
    if (part.size === rows || part.has(plant.id)) {
      yield [...part.values()];
      part.clear();
    }
    part.set(plant.id, plant);
  }
  if (part.size > 0) yield [...part.values()];
}
