import { isDiskFull, problemOf } from './failures.ts';

/** Milliseconds for which the last failure counts as the present state. */
const RECENT = 30_000;

/** Remembers failures that operators can do something about, which no check would show. */
export function recentFailure() {
  let fullDisks = 0;
  let last: { readonly problem: string; readonly at: number } | undefined;
  return {
    /** To be called with each error. */
    note(error: unknown): void {
      if (isDiskFull(error)) fullDisks++;
      const problem = problemOf(error);
      if (problem !== undefined) last = { problem, at: performance.now() };
    },
    /** How often there was no room on the disk. */
    fullDisks: () => fullDisks,
    /** What is wrong, in words, if it was so lately. */
    problem: () => (last !== undefined && performance.now() - last.at < RECENT ? last.problem : undefined),
  };
}
