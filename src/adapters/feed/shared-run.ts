/**
 * Lets concurrent callers with the same key share one run of the work. A caller after its end starts another run, and so
 * does one whose run has failed that another had begun: its deadline was an earlier one.
 */
export function sharedRuns<Result>(): (key: string, work: () => Promise<Result>) => Promise<Result> {
  const running = new Map<string, Promise<Result>>();
  return async (key, work) => {
    const joined = running.get(key);
    if (joined !== undefined) {
      try {
        return await joined;
      } catch {}
    }
    const run = running.get(key) ?? work().finally(() => running.delete(key));
    running.set(key, run);
    return run;
  };
}

/** Lets concurrent callers share one run of the work; a caller after its end starts another run. */
export function sharedRun<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  return () => (running ??= work().finally(() => (running = undefined)));
}
