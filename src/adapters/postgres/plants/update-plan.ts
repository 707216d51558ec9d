import type { Condition } from '../../../application/ports.ts';
import { isSamePlant, type NewPlant, type Stored } from '../../../domain/plant.ts';
import type { CallState } from '../calls/store-call.ts';
import type { FoundPlant } from './plant-lookup.ts';
import type { RowChange } from './update-statements.ts';

/** The change that a client wants. */
export interface Change {
  readonly id: bigint;
  readonly target: NewPlant | 'deleted';
  readonly condition: Condition | undefined;
  /** True except for the first attempt of a deletion without a condition. */
  readonly needsLookUp: boolean;
  readonly call: CallState;
}

interface Plan {
  /** What is stored after each change, once the rows are updated. */
  readonly outcomes: readonly Stored[];
  readonly rows: readonly RowChange[];
}

/**
 * Decides what one UPDATE makes of some rows. Several changes of one plant take effect in their order. One whose call has
 * timed out before the look-up came does nothing: what was found may be a later change, acknowledged since.
 */
export function planUpdate(changes: readonly Change[], found: ReadonlyMap<bigint, FoundPlant>): Plan {
  const after = new Map<bigint, NewPlant | 'deleted'>();
  const outcomes = changes.map(({ id, target, condition, needsLookUp, call }) => {
    const row = found.get(id);
    const stored = after.get(id) ?? row?.stored;
    const isRefused = !call.isOpen || typeof stored !== 'object' || condition?.(stored) === false;
    if ((row !== undefined || needsLookUp) && (isRefused || isDone(stored, target))) return stored;
    after.set(id, target);
    return target;
  });
  const rows = [...after]
    .map(([id, stored]) => ({ id, before: found.get(id), after: stored }))
    .filter(({ before, after }) => !isDone(before?.stored, after));
  return { outcomes, rows };
}

function isDone(stored: Stored, target: Change['target']): boolean {
  if (typeof stored !== 'object' || target === 'deleted') return stored === target;
  return isSamePlant(stored, target);
}
