import type { Database } from '../database.ts';
import { CALL_CLOSED } from '../errors.ts';
import { maxRunning, type StatementKind } from './connection-shares.ts';
import type { CallState } from './store-call.ts';

/** Does the work when there is room, unless its call times out first. */
type Semaphore = <T>(work: () => Promise<T>, call: CallState) => Promise<T>;

/** Lets few statements of a kind run at once, first come, first served, so that they leave connections to others. */
export function semaphore(database: Database, kind: StatementKind): Semaphore {
  const limit = maxRunning(database, kind);
  const waiting: { readonly call: CallState; readonly turn: PromiseWithResolvers<void> }[] = [];
  let running = 0;

  return async (work, call) => {
    if (running >= limit) {
      // Otherwise they would stay, and their memory, for as long as a statement hangs.
      while (waiting[0]?.call.isOpen === false) waiting.shift()?.turn.reject(CALL_CLOSED);
      const turn = Promise.withResolvers<void>();
      waiting.push({ call, turn });
      await turn.promise;
    } else running++;
    try {
      // Before the event loop turns, so that callers that have timed out in the queue delay no other.
      if (!call.isOpen) throw CALL_CLOSED;
      // Statements one after another would otherwise keep all sockets waiting.
      await database.letRequestsArrive?.();
      return await work();
    } finally {
      // The next caller takes over, so that the number of running statements stays the same.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next.turn.resolve();
    }
  };
}
