import { PlantStoreError } from '../../domain/errors.ts';

/** The rejection that the port promises, for a reason that is no error of the database's. */
export function unavailable(reason: string): PlantStoreError {
  return new PlantStoreError('store_unavailable', undefined, { cause: new Error(reason) });
}

/** The error of work whose deadline has passed before it began: one object, since under overload there is much of it. */
export const OVERDUE = unavailable('it has timed out');

/** Lets `limit` pieces of work run at once, first come, first served, and rejects those whose deadline has passed. */
export function lane(limit: number) {
  const queue: { readonly until: number; readonly turn: PromiseWithResolvers<void> }[] = [];
  let runningCount = 0;

  return async <T>(work: () => Promise<T>, until: number): Promise<T> => {
    if (runningCount >= limit) {
      // Otherwise they would stay, and their memory, for as long as a statement hangs.
      while (queue[0] && queue[0].until <= performance.now()) queue.shift()?.turn.reject(OVERDUE);
      const turn = Promise.withResolvers<void>();
      queue.push({ until, turn });
      await turn.promise;
    } else runningCount++;
    try {
      // Before the event loop turns, so that those who have timed out in the queue delay no other.
      if (until <= performance.now()) throw OVERDUE;
      return await work();
    } finally {
      // The next one takes over, so that the number of running ones stays the same.
      const next = queue.shift();
      if (next === undefined) runningCount--;
      else next.turn.resolve();
    }
  };
}
