/** Does the work when it is its turn, unless it is not wanted any more by then. */
export type Lane = <T>(work: () => Promise<T>, isWanted: () => boolean) => Promise<T>;

/**
 * Lets `limit` pieces of work run at once, first come, first served.
 *
 * @param closed the error of work that is not wanted any more when its turn comes
 */
export function lane(limit: number, closed: Error): Lane {
  const waiting: { readonly isWanted: () => boolean; readonly turn: PromiseWithResolvers<void> }[] = [];
  let running = 0;

  return async (work, isWanted) => {
    if (running >= limit) {
      // Otherwise they would stay, and their memory, for as long as a statement hangs.
      while (waiting[0]?.isWanted() === false) waiting.shift()?.turn.reject(closed);
      const turn = Promise.withResolvers<void>();
      waiting.push({ isWanted, turn });
      await turn.promise;
    } else running++;
    try {
      // Before the event loop turns, so that those who have timed out in the queue delay no other.
      if (!isWanted()) throw closed;
      return await work();
    } finally {
      // The next one takes over, so that the number of running ones stays the same.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next.turn.resolve();
    }
  };
}
