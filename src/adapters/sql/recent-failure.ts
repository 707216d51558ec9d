export const FULL_DISK =
  'the disk of the database is full, or its quota is used up, so plants cannot be written: make room';

/** Milliseconds for which the last failure counts as the present state. */
const RECENT_MS_MAX = 30_000;

/**
 * Remembers failures that operators can do something about, which no check would show.
 *
 * @param failureOf whose `problem` is what is wrong, in words, if it is such a failure
 */
export function recentFailure(failureOf: (error: unknown) => { readonly problem: string | undefined }) {
  let last: { readonly problem: string; readonly at: number } | undefined;
  return {
    /** To be called with each error. */
    note(error: unknown): void {
      const { problem } = failureOf(error);
      if (problem !== undefined) last = { problem, at: performance.now() };
    },
    /** What is wrong, in words, if it was so lately. */
    problem: () => (last !== undefined && performance.now() - last.at <= RECENT_MS_MAX ? last.problem : undefined),
  };
}
