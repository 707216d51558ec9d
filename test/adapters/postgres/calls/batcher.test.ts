import { afterEach, expect, test } from '@jest/globals';
import { batcher } from '../../../../src/adapters/postgres/calls/batcher.ts';

/** Ends what a failed test has left running: Jest would wait for it. */
let endBatches = () => {};

afterEach(() => endBatches());

const openCall = () => ({ isOpen: true, isAlone: false });

/** A batcher whose batches end when the test says so. */
function setUp({
  maxItems = 10,
  maxSize = 100,
  maxRunning = 1,
  gather,
}: {
  maxItems?: number;
  maxSize?: number;
  maxRunning?: number;
  gather?: () => Promise<void>;
} = {}) {
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
    gather,
  });
  return {
    add: (item: string, call = openCall()) => add(item, call),
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

test('lets more calls come before a batch takes its own, if it is to gather them', async () => {
  const gathered: (() => void)[] = [];
  const { add, seen, batch } = setUp({ maxRunning: 3, gather: () => new Promise((resolve) => gathered.push(resolve)) });
  const calls = ['a', 'b'].map((item) => add(item));
  expect(seen()).toEqual([]);
  expect(gathered).toHaveLength(1);
  gathered[0]?.();
  (await batch(0)).succeed();
  expect(await Promise.all(calls)).toEqual(['a!', 'b!']);
  expect(seen()).toEqual(['a b']);
});

test('sends no batch if all calls were given up while it gathered them, and goes on', async () => {
  const gathered: (() => void)[] = [];
  const { add, seen, batch } = setUp({ gather: () => new Promise((resolve) => gathered.push(resolve)) });
  const call = openCall();
  const refused = expect(add('a', call)).rejects.toThrow('timed out');
  call.isOpen = false;
  await refused;
  gathered[0]?.();
  await new Promise(setImmediate);
  const next = add('b');
  gathered[1]?.();
  (await batch(0)).succeed();
  expect(await next).toBe('b!');
  expect(seen()).toEqual(['b']);
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

test('tells the calls of a batch that failed because of one of them to share none with others', async () => {
  const { add, seen, batch } = setUp();
  const open = [openCall(), openCall(), openCall()];
  const calls = Promise.allSettled([add('first'), ...open.map((call, n) => add(`${n}`, call))]);
  (await batch(0)).succeed();
  (await batch(1)).fail(new RangeError('one is bad'));
  expect((await calls).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
  expect(open.map(({ isAlone }) => isAlone)).toEqual([true, true, true]);
  const again = Promise.all([...open.map((call, n) => add(`${n}`, call)), add('last')]);
  for (const index of [2, 3, 4, 5]) (await batch(index)).succeed();
  await again;
  expect(seen()).toEqual(['first', '0 1 2', '0', '1', '2', 'last']);
});

test('does not blame a call that was alone in its batch', async () => {
  const { add, batch } = setUp();
  const call = openCall();
  const failed = Promise.allSettled([add('bad', call)]);
  (await batch(0)).fail(new RangeError('it is bad'));
  expect(await failed).toMatchObject([{ status: 'rejected' }]);
  expect(call.isAlone).toBe(false);
});

test('tells every call of a batch that failed for another reason', async () => {
  const { add, seen, batch } = setUp();
  const calls = Promise.allSettled(['first', 'a', 'b'].map((item) => add(item)));
  (await batch(0)).succeed();
  (await batch(1)).fail(new Error('connection lost'));
  expect((await calls).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(seen()).toEqual(['first', 'a b']);
});

test('fails a batch that has another number of results than of calls, instead of giving a call the result of another', async () => {
  const add = batcher<string, string>({
    run: async (items) => items.slice(1),
    shouldRetryAlone: () => false,
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

const timedOut = { status: 'rejected', reason: { message: 'the call has timed out' } };

test('sends nothing whose call was given up while it was waiting', async () => {
  const { add, seen, waiting, batch } = setUp();
  const calls = [add('first')];
  const givenUp = openCall();
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

test('keeps no timer when all is done', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  const { add, batch } = setUp();
  const call = add('a');
  (await batch(0)).succeed();
  await call;
  while (timers() > before) await new Promise(setImmediate);
});
