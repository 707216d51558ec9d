import { afterEach, expect, test } from '@jest/globals';
import { batcher } from '../../../../src/adapters/postgres/calls/batcher.ts';

/** Lets all batches succeed from now on. What a failed test has left running, Jest would wait for. */
let endBatches = () => {};
afterEach(() => endBatches());

const many = (count: number) => Array.from({ length: count }, (_, n) => n).join(' ');

const openCall = () => ({ isOpen: true, maxShared: Number.POSITIVE_INFINITY });

type LetArrive = (() => Promise<void>) | undefined;

/** A batcher whose batches end when the test says so. */
function setUp({ maxItems = 10, maxSize = 100, maxRunning = 1, letRequestsArrive = undefined as LetArrive } = {}) {
  const batches: { items: readonly string[]; succeed: () => void; fail: (error: Error) => void }[] = [];
  let isOver = false;
  endBatches = () => {
    isOver = true;
    for (const { succeed } of batches) succeed();
  };
  const add = batcher<string, string>({
    run(items) {
      const { promise, resolve, reject } = Promise.withResolvers<string[]>();
      batches.push({ items, succeed: () => resolve(items.map((item) => `${item}!`)), fail: reject });
      if (isOver) endBatches();
      return promise;
    },
    mayBeAnothers: (error) => error instanceof RangeError,
    maxItems,
    maxSize,
    sizeOf: (item) => item.length,
    maxRunning,
    letRequestsArrive,
  });
  return {
    add: (item: string, call = openCall()) => add(item, call),
    waiting: add.waiting,
    seen: () => batches.map(({ items }) => items.join(' ')),
    sizes: () => batches.map(({ items }) => items.length),
    /** The results of calls whose batches all succeed. */
    finish(calls: readonly Promise<string>[]) {
      endBatches();
      return Promise.all(calls);
    },
    /** The batch with this index, once it has started. */
    async batch(index: number) {
      for (;;) {
        const started = batches[index];
        if (started !== undefined) return started;
        await new Promise(setImmediate);
      }
    },
  };
}

test('sends a call at once, those that come meanwhile as the next batch, and gives each its own result', async () => {
  const { add, seen, waiting, finish } = setUp();
  const calls = ['a', 'b', 'c'].map((item) => add(item));
  expect([seen(), waiting()]).toEqual([['a'], 2]);
  expect(await finish(calls)).toEqual(['a!', 'b!', 'c!']);
  expect([seen(), waiting()]).toEqual([['a', 'b c'], 0]);
});

test('lets requests arrive before a batch takes its own, if it is to, and sends none that was given up meanwhile', async () => {
  const arrived: (() => void)[] = [];
  const letRequestsArrive = () => new Promise<void>((resolve) => arrived.push(resolve));
  const { add, seen, waiting, finish } = setUp({ maxRunning: 3, letRequestsArrive });
  const call = openCall();
  const refused = ['given up', 'this one, too'].map((item) => expect(add(item, call)).rejects.toThrow('timed out'));
  call.isOpen = false;
  await Promise.all(refused);
  expect(waiting()).toBe(0);
  arrived[0]?.();
  await new Promise(setImmediate);
  const calls = ['a', 'b'].map((item) => add(item));
  expect([seen(), arrived.length]).toEqual([[], 2]);
  arrived[1]?.();
  expect(await finish(calls)).toEqual(['a!', 'b!']);
  expect(seen()).toEqual(['a b']);
});

test('bounds a batch in items and in size, and sends what is larger than that alone', async () => {
  const { add, seen, finish } = setUp({ maxItems: 3, maxSize: 5 });
  await finish(['0', 'a', 'b', 'c', 'dddd', 'ee', 'ffffffff', 'g'].map((item) => add(item)));
  expect(seen()).toEqual(['0', 'a b c', 'dddd', 'ee', 'ffffffff', 'g']);
});

test.each([
  ['once it is worthwhile, and no third', 100, 10, 40, [1, 16], [1, 16, 23]],
  ['once it is full, since it could not grow by waiting', 2, 2, 5, [1, 2], [1, 2, 2]],
])('starts a second batch beside a running one %s', async (_when, maxItems, maxRunning, count, first, all) => {
  const { add, sizes, finish } = setUp({ maxItems, maxRunning });
  const calls = Array.from({ length: count }, (_, n) => add(`${n}`));
  expect(sizes()).toEqual(first);
  await finish(calls);
  expect(sizes()).toEqual(all);
});

test('starts the next batch beside a slow one, but never more than may run', async () => {
  const { add, seen, batch, finish } = setUp({ maxRunning: 2 });
  const calls = [add('slow'), add('next')];
  await batch(1);
  calls.push(add('third'));
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(seen()).toEqual(['slow', 'next']);
  expect(await finish(calls)).toEqual(['slow!', 'next!', 'third!']);
});

test.each([
  [3, 1, ['first', '0 1 2', '0', '1', '2', 'last']],
  [20, 2, ['first', many(20), '0', ...Array.from({ length: 9 }, (_, n) => `${2 * n + 1} ${2 * n + 2}`), '19 last']],
])('repeats a batch of %i that failed because of one of them in parts of %i', async (count, part, statements) => {
  const { add, seen, batch, finish } = setUp({ maxItems: 100 });
  const open = Array.from({ length: count }, openCall);
  const calls = Promise.allSettled([add('first'), ...open.map((call, n) => add(`${n}`, call))]);
  (await batch(0)).succeed();
  (await batch(1)).fail(new RangeError('one is bad'));
  expect((await calls).filter(({ status }) => status === 'rejected')).toHaveLength(count);
  expect(open.map(({ maxShared }) => maxShared)).toEqual(open.map(() => part));
  await finish([...open.map((call, n) => add(`${n}`, call)), add('last')]);
  expect(seen()).toEqual(statements);
});

test.each([
  ['alone in its batch', 1, new RangeError('it is bad')],
  ['in a batch that failed for another reason', 2, new Error('connection lost')],
])('does not blame a call that was %s', async (_where, count, error) => {
  const { add, batch } = setUp();
  const first = add('first');
  const open = Array.from({ length: count }, openCall);
  const calls = Promise.allSettled(open.map((call, n) => add(`${n}`, call)));
  (await batch(0)).succeed();
  await first;
  (await batch(1)).fail(error);
  expect(await calls).toEqual(open.map(() => ({ status: 'rejected', reason: error })));
  expect(open.map(({ maxShared }) => maxShared)).toEqual(open.map(() => Number.POSITIVE_INFINITY));
});

test('fails a batch that has another number of results than of calls, instead of giving a call the result of another', async () => {
  const add = batcher<string, string>({
    run: async (items) => items.slice(1),
    mayBeAnothers: () => false,
    maxItems: 10,
    maxRunning: 1,
  });
  const calls = await Promise.allSettled(['first', 'a', 'b'].map((item) => add(item, openCall())));
  expect(calls.map((call) => call.status === 'rejected' && call.reason.message)).toEqual([
    '0 results for 1 items',
    '1 results for 2 items',
    '1 results for 2 items',
  ]);
});

test('keeps no timer when all is done', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  const { add, finish } = setUp();
  await finish([add('a')]);
  while (timers() > before) await new Promise(setImmediate);
});
