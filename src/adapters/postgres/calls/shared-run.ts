/** Lets concurrent callers share one run of the work; a caller after its end starts another run. */
export function sharedRun<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

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
