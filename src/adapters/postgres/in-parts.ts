import type { Outcomes } from '../../application/ports.ts';
import { failureOf } from './failures.ts';

/** A list that failed, perhaps because of one of its items, is repeated as so many smaller ones, and each of these likewise. */
const PARTS = 16;

/**
 * Makes an attempt for a list, or for parts of it if one of its items may have made it fail for the others.
 *
 * @param attempt runs one statement for the items, with this `mayRepeat`. If it rejects without having been told to split,
 * that is the outcome of each
 */
export async function inParts<Item, Result>(
  items: readonly Item[],
  attempt: (items: readonly Item[], mayRepeat: (error: unknown) => boolean) => Promise<Outcomes<Result>>,
): Promise<Outcomes<Result>> {
  let isSplit = false;
  let isSlow = false;
  try {
    return await attempt(items, (error) => {
      const { mayBeOneRowsFault, isStatementTimeout } = failureOf(error);
      // A slow second makes all statements slow, a slow or a locked row the same one again.
      isSplit = items.length > 1 && (mayBeOneRowsFault || (isSlow && isStatementTimeout));
      isSlow = isStatementTimeout;
      return !isSplit;
    });
  } catch (error) {
    if (!isSplit) throw error;
    return split(items, Math.ceil(items.length / PARTS), (part) => inParts(part, attempt));
  }
}

/** Does work for parts of a list. Each item has its outcome as soon as its part has. */
export function split<Item, Result>(
  items: readonly Item[],
  size: number,
  work: (items: readonly Item[]) => Promise<Outcomes<Result>>,
): Outcomes<Result> {
  const starts = Array.from({ length: Math.ceil(items.length / size) }, (_, index) => index * size);
  return starts.flatMap((start) => {
    const part = items.slice(start, start + size);
    return eachOf(part, work(part));
  });
}

/** The outcome of each item of a list, once the list has any. */
export function eachOf<Item, Result>(
  items: readonly Item[],
  outcomes: Promise<Outcomes<Result>>,
): readonly Promise<Result>[] {
  return items.map(async (_item, index) => (await outcomes)[index] as Result);
}
