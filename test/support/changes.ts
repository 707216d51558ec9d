import assert from 'node:assert/strict';
import type { ReadChanges } from '../../src/application/ports.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { plantsOf } from './plant-lines.ts';

/* The feed of changes, as a consumer sees it. */

/** What the feed says of a plant: its record, or that it was deleted. */
export type Change = NewPlant | { readonly id: bigint; readonly deleted: true };

const DELETION = /^\{"id":(0|-?[1-9]\d*),"deleted":true\}$/;

/** The changes in the lines of `ReadChanges`, their ids exact. */
export function changesOf(lines: string): Change[] {
  return lines === '' ? [] : lines.split('\n').map(changeOf);
}

function changeOf(line: string): Change {
  const id = DELETION.exec(line)?.[1];
  if (id !== undefined) return { id: BigInt(id), deleted: true };
  const [plant] = plantsOf(line);
  assert(plant);
  return plant;
}

export const deletion = (id: bigint): Change => ({ id, deleted: true });

/** Reads from a position until nothing is new. */
export async function readToEnd(
  feed: ReadChanges,
  after?: string,
  limit: number | (() => number) = 1_000,
): Promise<{ changes: Change[]; pages: Change[][]; next: string }> {
  const pages: Change[][] = [];
  for (let from = after; ; ) {
    const { lines, next } = await feed.readChanges(from, typeof limit === 'number' ? limit : limit());
    from = next;
    if (lines === '') return { changes: pages.flat(), pages, next };
    pages.push(changesOf(lines));
  }
}

/** Does to a copy of the plants what the changes say. */
export function applyTo(copy: Map<bigint, NewPlant>, changes: readonly Change[]): void {
  for (const change of changes) {
    if ('deleted' in change) copy.delete(change.id);
    else copy.set(change.id, change);
  }
}

/** Plants in the order of their ids, to compare them. */
export function sorted(plants: Iterable<NewPlant>): NewPlant[] {
  return [...plants].sort((a, b) => (a.id < b.id ? -1 : 1));
}
