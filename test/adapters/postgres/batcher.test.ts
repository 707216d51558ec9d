import { afterEach, expect, test } from '@jest/globals';
import { batcher } from '../../../src/adapters/postgres/batcher.ts';

/** Ends what a failed test has left running: Jest would wait for it. */
let endBatches = () => {};

afterEach(() => endBatches());

/** A batcher whose batches end when the test says so. */
function setUp({ maxItems = 10, maxSize = 100, maxRunning = 1 } = {}) {
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
    shouldRetryAlone: (error) => error instanceof RangeError,
    maxItems,
    maxSize,
    sizeOf: (item) => item.length,
    maxRunning,
  });
  return {
    add: (item: string, call = { isOpen: true }) => add(item, call),
    waiting: add.waiting,
    seen: () => batches.map(({ items }) => items.join(' ')),
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

test('lets a call that finds nothing running leave at once', async () => {
  const { add, seen, batch } = setUp();
  const call = add('a');
  expect(seen()).toEqual(['a']);
  (await batch(0)).succeed();
  expect(await call).toBe('a!');
});

test('sends the calls that come while a batch runs as the next one, and gives each its own result', async () => {
  const { add, seen, batch } = setUp();
  const calls = ['a', 'b', 'c'].map((item) => add(item));
  (await batch(0)).succeed();
  (await batch(1)).succeed();
  expect(await Promise.all(calls)).toEqual(['a!', 'b!', 'c!']);
  expect(seen()).toEqual(['a', 'b c']);
});

test('tells how many calls wait for a batch', async () => {
  const { add, waiting, batch } = setUp();
  expect(waiting()).toBe(0);
  const calls = ['a', 'b', 'c'].map((item) => add(item));
  expect(waiting()).toBe(2);
  (await batch(0)).succeed();
  (await batch(1)).succeed();
  await Promise.all(calls);
  expect(waiting()).toBe(0);
});

test('bounds a batch in items and in size, and sends what is larger than that alone', async () => {
  const { add, seen, batch } = setUp({ maxItems: 3, maxSize: 5 });
  const calls = ['0', 'a', 'b', 'c', 'dddd', 'ee', 'ffffffff', 'g'].map((item) => add(item));
  for (let index = 0; index < 6; index++) (await batch(index)).succeed();
  await Promise.all(calls);
  expect(seen()).toEqual(['0', 'a b c', 'dddd', 'ee', 'ffffffff', 'g']);
});

test('starts a second batch beside a running one once it is worthwhile, and no third', async () => {
  const { add, seen, batch } = setUp({ maxItems: 100, maxRunning: 10 });
  const calls = Array.from({ length: 40 }, (_, n) => add(`${n}`));
  expect(seen().map((items) => items.split(' ').length)).toEqual([1, 16]);
  (await batch(0)).succeed();
  (await batch(1)).succeed();
  (await batch(2)).succeed();
  await Promise.all(calls);
  expect(seen().map((items) => items.split(' ').length)).toEqual([1, 16, 23]);
});

test('starts a second batch only once it is twice as large as the running one', async () => {
  const { add, seen, batch } = setUp({ maxItems: 100, maxRunning: 10 });
  const sizes = () => seen().map((items) => items.split(' ').length);
  const calls = Array.from({ length: 17 }, (_, n) => add(`${n}`));
  (await batch(0)).succeed();
  await calls[0];
  calls.push(...Array.from({ length: 31 }, (_, n) => add(`${n}`)));
  expect(sizes()).toEqual([1, 16]);
  calls.push(add('last'));
  expect(sizes()).toEqual([1, 16, 32]);
  (await batch(1)).succeed();
  (await batch(2)).succeed();
  await Promise.all(calls);
});

test('starts a full batch beside a running one, since it could not grow by waiting', async () => {
  const { add, seen, batch } = setUp({ maxItems: 2, maxRunning: 2 });
  const calls = ['a', 'b', 'c', 'd', 'e'].map((item) => add(item));
  expect(seen()).toEqual(['a', 'b c']);
  for (let index = 0; index < 3; index++) (await batch(index)).succeed();
  await Promise.all(calls);
});

test('starts the next batch beside a slow one, but never more than may run', async () => {
  const { add, seen, batch } = setUp({ maxRunning: 2 });
  const calls = [add('slow'), add('next')];
  await batch(1);
  calls.push(add('third'));
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(seen()).toEqual(['slow', 'next']);
  (await batch(0)).succeed();
  (await batch(1)).succeed();
  (await batch(2)).succeed();
  expect(await Promise.all(calls)).toEqual(['slow!', 'next!', 'third!']);
});

test('tries the items of a batch one by one if it failed because of one of them', async () => {
  const { add, seen, batch } = setUp();
  const calls = Promise.allSettled(['first', 'a', 'bad', 'c'].map((item) => add(item)));
  (await batch(0)).succeed();
  (await batch(1)).fail(new RangeError('bad is in it'));
  (await batch(2)).succeed();
  (await batch(3)).fail(new RangeError('it is bad'));
  (await batch(4)).succeed();
  expect(await calls).toEqual([
    { status: 'fulfilled', value: 'first!' },
    { status: 'fulfilled', value: 'a!' },
    { status: 'rejected', reason: new RangeError('it is bad') },
    { status: 'fulfilled', value: 'c!' },
  ]);
  expect(seen()).toEqual(['first', 'a bad c', 'a', 'bad', 'c']);
});

test('tells every call of a batch that failed for another reason', async () => {
  const { add, seen, batch } = setUp();
  const calls = Promise.allSettled(['first', 'a', 'b'].map((item) => add(item)));
  (await batch(0)).succeed();
  (await batch(1)).fail(new Error('connection lost'));
  expect((await calls).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(seen()).toEqual(['first', 'a b']);
});

const timedOut = { status: 'rejected', reason: { message: 'the call has timed out' } };

test('sends nothing whose call was given up while it was waiting', async () => {
  const { add, seen, waiting, batch } = setUp();
  const calls = [add('first')];
  const givenUp = { isOpen: true };
  const dropped = Promise.allSettled([add('given up', givenUp), add('given up too', givenUp)]);
  givenUp.isOpen = false;
  expect(await dropped).toMatchObject([timedOut, timedOut]);
  expect(waiting()).toBe(0);
  calls.push(add('later'));
  (await batch(0)).succeed();
  (await batch(1)).succeed();
  await Promise.all(calls);
  expect(seen()).toEqual(['first', 'later']);
});

test('does not try alone what was given up while its batch ran', async () => {
  const { add, seen, batch } = setUp();
  const givenUp = { isOpen: true };
  const first = add('first');
  const dropped = Promise.allSettled([add('given up', givenUp)]);
  const calls = [first, add('a'), add('b')];
  (await batch(0)).succeed();
  const running = await batch(1);
  givenUp.isOpen = false;
  running.fail(new RangeError('one is bad'));
  (await batch(2)).succeed();
  (await batch(3)).succeed();
  expect(await Promise.all(calls)).toEqual(['first!', 'a!', 'b!']);
  expect(seen()).toEqual(['first', 'given up a b', 'a', 'b']);
  expect(await dropped).toMatchObject([timedOut]);
});

test('keeps no timer when all is done', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  const { add, batch } = setUp();
  const call = add('a');
  (await batch(0)).succeed();
  await call;
  while (timers() > before) await new Promise(setImmediate);
});
