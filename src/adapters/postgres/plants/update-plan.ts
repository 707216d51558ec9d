import type { Condition } from '../../../application/ports.ts';
import { isSamePlant, type NewPlant, type Stored } from '../../../domain/plant.ts';
import type { FoundPlant } from './plant-lookup.ts';
import type { RowChange } from './update-statements.ts';

/** What a client wants of a plant. */
export interface Change {
  readonly id: bigint;
  readonly target: NewPlant | 'deleted';
  readonly condition: Condition | undefined;
  /** False for a deletion of any plant, until its row was not there to delete. */
  needsLookUp: boolean;
  /** The version on which an UPDATE was conditional whose outcome is unknown; `any` if on none. */
  uncertain: bigint | 'any' | undefined;
}

/** What is stored after a change; or that its row was changed or locked by another transaction, or may be. */
export type Outcome = { readonly stored: Stored } | 'retry' | 'unknown';

interface Plan {
  /** Of each change, once the rows are updated. */
  readonly outcomes: readonly Outcome[];
  readonly rows: readonly RowChange[];
}

/** Decides what one UPDATE makes of some rows. Several changes of one plant take effect in their order. */
export function planUpdate(changes: readonly Change[], found: ReadonlyMap<bigint, FoundPlant>): Plan {
  const after = new Map<bigint, NewPlant | 'deleted'>();
  /** Rows that an UPDATE of unknown outcome may still change: no outcome is definite before they have another version. */
  const exposed = new Set<bigint>();

  function outcomeOf(change: Change): Outcome {
    const { id, target, uncertain } = change;
    const row = found.get(id);
    if (row === undefined && !change.needsLookUp) return write(id, target);
    const stored = after.get(id) ?? row?.stored;
    if (uncertain !== undefined && uncertain === row?.version) exposed.add(id);
    else if (!isDone(stored, target) && isUnknown(change, stored)) return 'unknown';
    if (isDone(stored, target) || typeof stored !== 'object' || change.condition?.(stored) === false) return { stored };
    return write(id, target);
  }

  function write(id: bigint, target: NewPlant | 'deleted'): Outcome {
    after.set(id, target);
    return { stored: target };
  }

  const outcomes = changes.map(outcomeOf);
  for (const id of exposed) after.set(id, after.get(id) ?? (found.get(id) as FoundPlant).stored);
  const rows = [...after]
    .map(([id, stored]) => ({ id, before: found.get(id), after: stored }))
    .filter((row) => exposed.has(row.id) || !isDone(row.before?.stored, row.after));
  return { outcomes, rows };
}

/** Whether an earlier UPDATE may have succeeded, or may still do so. A plant that is there can be deleted in any case. */
function isUnknown({ uncertain }: Change, stored: Stored): boolean {
  return uncertain === 'any' ? typeof stored !== 'object' : uncertain !== undefined;
}

function isDone(stored: Stored, target: Change['target']): boolean {
  if (typeof stored !== 'object' || target === 'deleted') return stored === target;
  return isSamePlant(stored, target);
}
