import { setTimeout as delay } from 'node:timers/promises';
import { failureOf } from './failures.ts';

/** Milliseconds for which a start and a command wait for the lock of another process. */
export const PATIENCE = 30_000;

/** Milliseconds until they try again. SQLite's own waits would keep signals from acting. */
const PAUSE = 10;

/**
 * Repeats work that has done nothing because another process holds a lock, until that is free.
 *
 * @param stop ends the wait
 * @throws what the work has thrown last, or the reason of `stop`
 */
export async function onceFree<T>(work: () => T, stop?: AbortSignal): Promise<T> {
  for (const end = performance.now() + PATIENCE; ; ) {
    try {
      return work();
    } catch (error) {
      if (!failureOf(error).isBusy || performance.now() >= end) throw error;
      stop?.throwIfAborted();
    }
    await delay(PAUSE);
  }
}
