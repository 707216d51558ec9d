import type { Call } from './batch.ts';
import type { Session } from './dialect.ts';
import type { Executor, WorkFailure } from './run.ts';

/** The most parts into which a failed list is split. A part that fails is split again. */
const PARTS_MAX = 16;

/** @returns the parts in which a failed list is repeated; undefined if it must not be split */
export function splitOnFailure<Item>(
  list: readonly Item[],
  { mayBeOneRowsFault, isSlowAgain }: WorkFailure,
): Item[][] | undefined {
  // A statement that is slow twice has a slow or locked row. Once, all statements may have been slow for a moment.
  if (list.length < 2 || !(mayBeOneRowsFault || isSlowAgain)) return undefined;
  const size = Math.ceil(list.length / PARTS_MAX);
  return Array.from({ length: Math.ceil(list.length / size) }, (_, n) => list.slice(n * size, (n + 1) * size));
}

/** Reads for the items of a list, or of parts of it if one item may have made the statement fail for the others. */
export async function readItems<Item, Result>(
  executor: Executor,
  list: readonly Call<Item, Result>[],
  read: (session: Session, items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<void> {
  const items = list.map(({ item }) => item);
  const outcome = await executor.executeWithRetry('reads', (session) => read(session, items), {
    until: list.at(-1)?.until,
    mayRepeat: (failure) => splitOnFailure(list, failure) === undefined,
  });
  if ('result' in outcome) {
    for (const [index, { resolve }] of list.entries()) resolve(outcome.result[index] as Result);
    return;
  }
  const parts = splitOnFailure(list, outcome.failure);
  if (parts === undefined) for (const { reject } of list) reject(outcome.failure.error);
  else for (const part of parts) void readItems(executor, part, read);
}
