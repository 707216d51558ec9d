import { setTimeout as delay } from 'node:timers/promises';

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
