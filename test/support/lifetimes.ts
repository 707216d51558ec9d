import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';

/* What a test starts ends with the test. What starts outside of tests, as in a hook for all of them, ends with the file. */

let ofTest: AsyncDisposableStack | undefined;
const ofFile = new AsyncDisposableStack();
beforeEach(() => {
  ofTest = new AsyncDisposableStack();
});
afterEach(async () => {
  await ofTest?.disposeAsync();
  ofTest = undefined;
});
afterAll(() => ofFile.disposeAsync());

/** Has this done at the end, in the opposite order of these calls. */
export function atEnd(undo: () => unknown): void {
  (ofTest ?? ofFile).defer(async () => {
    await undo();
  });
}

/** Has this done once, when the test calls what is returned, or at the end. */
export function atEndOrBefore<Result>(undo: () => Result): () => Result {
  let result: { readonly value: Result } | undefined;
  function undoOnce(): Result {
    result ??= { value: undo() };
    return result.value;
  }
  atEnd(undoOnce);
  return undoOnce;
}

/** What is started before the tests of the file, or of the `describe` around this, for all of them. */
export function forAllTests<Started extends object>(start: () => Promise<Started>): Started {
  return startedIn(beforeAll, start);
}

/** The same, started anew before each of them. */
export function forEachTest<Started extends object>(start: () => Promise<Started>): Started {
  return startedIn(beforeEach, start);
}

/** @returns what has been started last, whose members it has as soon as its hook has run */
function startedIn<Started extends object>(hook: typeof beforeAll, start: () => Promise<Started>): Started {
  const started = {} as Started;
  hook(async () => {
    Object.assign(started, await start());
  });
  return started;
}
