import type { Entry } from './batch.ts';
import type { Failure } from './dialect.ts';
import type { RunOptions } from './run.ts';

/** A list that failed, perhaps because of one of its items, is split into so many parts, and each that fails is split again. */
const PARTS = 16;

export function partsOf<Item>(items: readonly Item[]): Item[][] {
  const size = Math.ceil(items.length / PARTS);
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}

/**
 * Runs a statement for a list of items.
 *
 * @param items how many there are: called only after a failure
 * @param run gets the `mayRepeat` of its attempts
 * @returns undefined if it has failed, perhaps because of one of the items, and is to be repeated in parts
 */
export async function unlessOneFails<Result>(
  items: () => number,
  failureOf: (error: unknown) => Failure,
  run: (mayRepeat: NonNullable<RunOptions['mayRepeat']>) => Promise<Result>,
): Promise<{ readonly result: Result } | undefined> {
  let isSplit = false;
  let isSlow = false;
  try {
    const result = await run((error) => {
      const { mayBeOneRowsFault, isStatementTimeout } = failureOf(error);
      // A slow second makes all statements slow, a slow or a locked row the same one again.
      isSplit = items() > 1 && (mayBeOneRowsFault || (isSlow && isStatementTimeout));
      isSlow = isStatementTimeout;
      return !isSplit;
    });
    return { result };
  } catch (error) {
    if (isSplit) return undefined;
    throw error;
  }
}

/** Reads for a list, or for parts of it if one of its items may have made it fail for the others. */
export async function readInParts<Item, Result>(
  list: readonly Entry<Item, Result>[],
  failureOf: (error: unknown) => Failure,
  read: (items: readonly Item[], options: RunOptions) => Promise<readonly Result[]>,
): Promise<void> {
  const items = list.map(({ item }) => item);
  try {
    const until = list.at(-1)?.until;
    const done = await unlessOneFails(
      () => list.length,
      failureOf,
      (mayRepeat) => read(items, { until, mayRepeat }),
    );
    if (done === undefined) for (const part of partsOf(list)) void readInParts(part, failureOf, read);
    else for (const [index, { resolve }] of list.entries()) resolve(done.result[index] as Result);
  } catch (error) {
    for (const { reject } of list) reject(error);
  }
}
