/** Lets concurrent callers with the same key share one run of the work; a caller after its end starts another run. */
export function sharedRuns<Result>(): (key: string, work: () => Promise<Result>) => Promise<Result> {
  const running = new Map<string, Promise<Result>>();
  return (key, work) => {
    const run = running.get(key) ?? work().finally(() => running.delete(key));
    running.set(key, run);
    return run;
  };
}

/** The same with a single key. */
export function sharedRun<Result>(work: () => Promise<Result>): () => Promise<Result> {
  const run = sharedRuns<Result>();
  return () => run('', work);
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
