import type { Stored } from '../../src/domain/plant.ts';
import { isPlant, type State } from '../support/linearizability.ts';
import { type Run, stateOf } from './run.ts';

export interface Row {
  readonly id: bigint;
  readonly stored: Exclude<Stored, undefined>;
  readonly changed: bigint;
}

/**
 * The table as each commit leaves it, and whether the numbers of its changes are as followers need them.
 *
 * @param isOrdered whether a greater number is committed later: on Postgres, transactions overtake each other
 */
export function observedTable({ fail }: Pick<Run, 'fail'>, rows: () => readonly Row[], isOrdered: boolean) {
  let table = new Map<bigint, { readonly state: State; readonly changed: bigint }>();
  let last = 0n;
  /** What changes have written; after a restore, numbers are given again. */
  const written = new Set<string>();
  const read = () =>
    new Map(
      rows().map(({ id, stored, changed }) => [
        id,
        { state: stored === 'deleted' ? stored : stateOf(stored), changed },
      ]),
    );
  return {
    ids: () => [...table.keys()],
    stateOf: (id: bigint) => table.get(id)?.state ?? 'absent',
    /** Without deleted ones. */
    plants: () => [...table].flatMap(([id, row]) => (isPlant(row.state) ? [{ id, ...row }] : [])),
    wasWritten: (changed: bigint, id: bigint, state: State) => written.has(`${changed} ${id} ${state}`),
    /** The last number that was given. */
    last: () => last,
    /** To be called after each commit. */
    update(): void {
      const now = read();
      const before = last;
      for (const [id, { state, changed }] of now) {
        const known = table.get(id);
        if (known?.state === state && known.changed === changed) continue;
        if (changed <= before && isOrdered)
          fail(`change ${changed} of ${id} comes after ${before}: followers have passed it`);
        written.add(`${changed} ${id} ${state}`);
        if (changed > last) last = changed;
      }
      table = now;
    },
    /** After a restore, to what a backup has. */
    setBack(to: bigint): void {
      last = to;
      table = read();
    },
  };
}

export type Table = ReturnType<typeof observedTable>;
