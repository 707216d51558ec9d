import { sharedRun } from '../feed/shared-run.ts';
import { SchemaError } from './errors.ts';

/**
 * Repeats a check until it has passed. Concurrent callers share a run.
 *
 * @returns a function that returns undefined once it has
 */
export function untilPassed(check: () => Promise<void>): () => Promise<void> | undefined {
  let hasPassed = false;
  const run = sharedRun(async () => {
    await check();
    hasPassed = true;
  });
  return () => (hasPassed ? undefined : run());
}

/**
 * Repeats a check once `milliseconds` have passed since the last one. Callers wait for the check while it has not
 * passed, or if the last one was twice as long ago; a check that cannot be made changes nothing.
 *
 * @returns a function that returns undefined while it has passed
 */
export function checkedAgain(check: () => Promise<void>, milliseconds: number): () => Promise<void> | undefined {
  let hasPassed = false;
  let next = Number.NEGATIVE_INFINITY;
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
