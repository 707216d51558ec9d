import { failureOf, tooLate, toPortError } from './failures.ts';

interface Part {
  readonly work: () => unknown;
  readonly until: number;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Milliseconds after which the event loop turns. */
const SLICE = 2;

/** Milliseconds until a read is tried again that another process has kept from its snapshot. */
const BUSY_PAUSE = 5;

/**
 * Runs reads in the order in which they arrive, and lets the event loop turn before the first of them, and again once they
 * have taken some milliseconds: otherwise synchronous reads behind `await` would keep all sockets waiting.
 *
 * @param timeout milliseconds until a read is given up that has no time of its own
 * @param check throws while the file must not be used
 */
export function readSlices(timeout: number, check: () => void, onFailure: (error: unknown) => void) {
  const waiting: Part[] = [];

  function runSlice(): void {
    const end = performance.now() + SLICE;
    let problem: unknown;
    try {
      check();
    } catch (error) {
      problem = error;
    }
    do {
      const part = waiting[0];
      if (part !== undefined) run(part, problem);
      // Not before: `add` would schedule another slice.
      waiting.shift();
    } while (waiting.length > 0 && performance.now() < end);
    if (waiting.length > 0) setImmediate(runSlice);
  }

  function run(part: Part, problem: unknown): void {
    const { work, until, resolve, reject } = part;
    try {
      if (problem !== undefined) throw problem;
      if (performance.now() >= until) throw tooLate();
      resolve(work() as never);
    } catch (error) {
      if (!failureOf(error).isBusy) {
        onFailure(error);
        reject(toPortError(error));
      } else if (performance.now() < until) setTimeout(add, BUSY_PAUSE, part);
      else reject(tooLate(error));
    }
  }

  function add(part: Part): void {
    if (waiting.push(part) === 1) setImmediate(runSlice);
  }

  /** @param work statements that take no longer than some milliseconds, and leave no transaction open */
  return <T>(work: () => T, until = performance.now() + timeout): Promise<T> =>
    new Promise((resolve, reject) => add({ work, until, resolve, reject }));
}
