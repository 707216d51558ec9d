import { isDiskFull } from './failures.ts';

/** Milliseconds for which the last failure counts as the present state. */
const RECENT = 30_000;

/** Remembers whether statements found no room on the database's disk, which no check of the database would show. */
export function fullDisk() {
  let failures = 0;
  let last = Number.NEGATIVE_INFINITY;
  return {
    /** To be called with the error of each statement. */
    note(error: unknown): void {
      if (!isDiskFull(error)) return;
      failures++;
      last = performance.now();
    },
    /** How many statements have failed so. */
    failures: () => failures,
    /** What is wrong, in words, if it was so lately. */
    problem(): string | undefined {
      if (performance.now() - last > RECENT) return undefined;
      return 'the disk of the database is full, or its quota is used up, so plants cannot be written: make room';
    },
  };
}
