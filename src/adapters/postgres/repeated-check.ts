import { sharedRun } from '../feed/shared-run.ts';
import { SchemaError } from './errors.ts';

/**
 * Repeats a check until it has passed. Then it is repeated while it is used, without anybody waiting for that, once so many
 * milliseconds have passed, if they are given; one that cannot be made changes nothing. Concurrent callers share a run.
 *
 * @returns a function that returns undefined while it has passed
 */
export function repeatedCheck(
  check: () => Promise<void>,
  milliseconds = Number.POSITIVE_INFINITY,
): () => Promise<void> | undefined {
  let hasPassed = false;
  let next = 0;
  const run = sharedRun(async () => {
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
    if (performance.now() >= next) run().catch(() => {});
    return undefined;
  };
}
