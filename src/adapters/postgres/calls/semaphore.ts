import { DeadlineError } from '../errors.ts';
import type { StoreCall } from './store-call.ts';

/** Does the work when there is room, unless its call times out first. */
export type Semaphore = <T>(work: () => Promise<T>, call: StoreCall) => Promise<T>;

/**
 * Lets few statements of a kind run at once, first come, first served, so that they leave connections to others.
 *
 * @param pause awaited before each of them
 */
export function semaphore(maxRunning: number, pause?: () => Promise<void>): Semaphore {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (work, call) => {
    if (running >= maxRunning) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      if (pause !== undefined) await pause();
      if (!call.isOpen) throw new DeadlineError('the call has timed out');
      return await work();
    } finally {
      // The next one takes over, so that the number of those running stays the same.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
