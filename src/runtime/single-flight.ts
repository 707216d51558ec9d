/** Lets concurrent callers share one run of the work; a caller after its end starts another run. */
export function singleFlight<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | undefined;
  return () => (current ??= work().finally(() => (current = undefined)));
}
