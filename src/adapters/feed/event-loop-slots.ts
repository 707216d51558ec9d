import { setImmediate as nextIteration } from 'node:timers/promises';

/**
 * Spreads many callers over iterations of the event loop, so that others are served between them.
 *
 * @param perIteration how many go on in one iteration
 * @returns a function that resolves when it is the caller's turn: at once if there are few
 */
export function eventLoopSlots(perIteration: number): () => Promise<void> {
  let callers = 0;
  let slot = Promise.resolve();
  return () => {
    if (++callers % perIteration === 0) slot = slot.then(() => nextIteration());
    return slot;
  };
}
