import { setTimeout as delay } from 'node:timers/promises';
import { atEnd } from './lifetimes.ts';

/**
 * Waits for a condition that nothing announces, looking every 10 ms.
 *
 * @param limit milliseconds after which it never will
 * @throws Error, with the condition's text, at the limit
 */
export async function eventually(condition: () => boolean | Promise<boolean>, limit = 60_000): Promise<void> {
  const end = performance.now() + limit;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${limit} ms: ${condition}`);
    await delay(10);
  }
}

/** Does the work again until it succeeds. */
export function eventuallySucceeds(work: () => Promise<unknown>): Promise<void> {
  return eventually(() =>
    work().then(
      () => true,
      () => false,
    ),
  );
}

/**
 * Does the work again and again until the end of the test, so many times at once.
 *
 * @returns what ends it earlier, and rejects if the work has failed
 */
export function untilStopped(work: () => Promise<unknown>, count = 1): () => Promise<void> {
  let isStopped = false;
  atEnd(() => {
    isStopped = true;
  });
  const all = Promise.all(
    Array.from({ length: count }, async () => {
      while (!isStopped) await work();
    }),
  );
  // Reported by who stops it.
  all.catch(() => {});
  return async () => {
    isStopped = true;
    await all;
  };
}
