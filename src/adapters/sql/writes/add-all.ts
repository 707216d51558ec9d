import type { PlantRepository } from '../../../application/ports.ts';
import type { Stored, ValidPlant } from '../../../domain/plant.ts';
import type { Precondition } from '../../../domain/precondition.ts';
import type { BatchOptions } from '../batch.ts';
import { withDeadline } from '../run.ts';
import type { Write, Written } from './phases.ts';
import type { WriteList } from './write.ts';

/** Plants in one statement: as many as clients send in a request, so that few commits wait for the disk. */
const STATEMENT_PLANTS_MAX = 1_000;

/**
 * Adds lists of plants in the background, one statement after another.
 *
 * @param timeout milliseconds until the plants of a statement are given up
 */
export function listAdder(write: WriteList, { timeout }: Pick<BatchOptions, 'timeout'>): PlantRepository['addAll'] {
  async function addPart(plants: readonly ValidPlant[], replaces: boolean): Promise<Stored[]> {
    const until = performance.now() + timeout;
    const precondition: Precondition = replaces ? {} : { excludes: 'any' };
    const calls = plants.map((plant) => {
      const item: Write = { id: plant.id, target: plant, adds: true, precondition };
      return { item, until, ...Promise.withResolvers<Written>() };
    });
    const outcomes = Promise.allSettled(calls.map(({ promise }) => promise));
    void write(() => calls, 'backgroundWrites');
    return (await withDeadline(outcomes, timeout)).map((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value.before;
    });
  }

  return async (plants, replaces) => {
    const stored: Stored[] = [];
    for (let start = 0; start < plants.length; start += STATEMENT_PLANTS_MAX)
      stored.push(...(await addPart(plants.slice(start, start + STATEMENT_PLANTS_MAX), replaces)));
    return stored;
  };
}
