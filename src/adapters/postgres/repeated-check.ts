import { singleFlight } from '../../runtime/single-flight.ts';
import { SchemaError } from './failures.ts';

/**
 * Repeats a check until it has passed, and then again once `milliseconds` have passed since the last time, if they are given.
 * Callers wait for it while it has not passed, or if the last time was twice as long ago, as after a pause without requests.
 * Once it has passed, a check that cannot be made changes nothing. Concurrent callers share a run.
 *
 * @returns a function that returns undefined while the check has passed and is recent
 */
export function repeatedCheck(
  check: () => Promise<void>,
  milliseconds = Number.POSITIVE_INFINITY,
): () => Promise<void> | undefined {
  let hasPassed = false;
  let next = Number.NEGATIVE_INFINITY;
  const run = singleFlight(async () => {
    try {
      await check();
      hasPassed = true;
    } catch (error) {
      if (error instanceof SchemaError) hasPassed = false;
      throw error;
    } finally {
      next = performance.now() + milliseconds;
    }
  });
  return () => {
    if (!hasPassed) return run();
    const late = performance.now() - next;
    if (late < 0) return undefined;
    const checking = run().catch((error) => {
      if (!hasPassed) throw error;
    });
    if (late >= milliseconds) return checking;
    checking.catch(() => {});
    return undefined;
  };
}
