import type { Write, Written } from '../../../application/ports.ts';
import { isSameState, type NewPlant } from '../../../domain/plant.ts';
import type { FoundPlant, RowChange } from './update-statements.ts';

interface Plan {
  /** What is stored before and after each write, once the rows are updated; undefined for those that are given up. */
  readonly outcomes: ReadonlyMap<Write, Written | undefined>;
  readonly rows: readonly RowChange[];
}

/** Decides what one UPDATE makes of the rows that were found. Several writes of one plant take effect in their order. */
export function planChanges(writes: readonly Write[], found: ReadonlyMap<bigint, FoundPlant>): Plan {
  const latest = new Map<bigint, NewPlant | 'deleted'>();
  const outcomeOf = ({ id, target, replaces, until = Number.POSITIVE_INFINITY }: Write) => {
    // One that nobody waits for any more does nothing: what was found may be a later change, acknowledged since.
    if (performance.now() >= until) return undefined;
    const before = latest.get(id) ?? found.get(id)?.stored;
    if (typeof before !== 'object' || !replaces(before) || isSameState(before, target))
      return { before, after: before };
    latest.set(id, target);
    return { before, after: target };
  };
  const outcomes = new Map(writes.map((write) => [write, outcomeOf(write)]));
  return { outcomes, rows: [...latest].flatMap(([id, after]) => changeOf(found.get(id), after)) };
}

function changeOf(found: FoundPlant | undefined, after: NewPlant | 'deleted'): RowChange[] {
  if (found === undefined || found.stored === 'deleted' || isSameState(found.stored, after)) return [];
  return [{ before: found.stored, version: found.version, after }];
}
