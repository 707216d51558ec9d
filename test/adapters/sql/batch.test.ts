import { afterEach, expect, test } from '@jest/globals';
import { batch } from '../../../src/adapters/sql/batch.ts';

/** Lets all batches succeed from now on. What a failed test has left running, Jest would wait for. */
let endBatches = () => {};
afterEach(() => endBatches());

/** Lists that end when the test says so. */
function setUp({ maxItems = 10, maxSize = 100, maxRunning = 1, timeout = 60_000 } = {}) {
  const batches: { items: readonly string[]; succeed: () => void }[] = [];
  let isOver = false;
  endBatches = () => {
    isOver = true;
    for (const { succeed } of batches) succeed();
  };
  const add = batch<string, string>(
    (take) => {
      const list = take();
      const { promise, resolve } = Promise.withResolvers<void>();
      const items = list.map(({ item }) => item);
      const succeed = () => {
        for (const one of list) one.resolve(`${one.item}!`);
        resolve();
      };
      batches.push({ items, succeed });
      if (isOver) endBatches();
      return promise;
    },
    { maxItems, maxRunning, timeout },
    (item) => item.length,
    maxSize,
  );
  return {
    add,
    seen: () => batches.map(({ items }) => items.join(' ')),
    /** The results of calls whose batches all succeed. */
    finish(calls: readonly Promise<string>[]) {
      endBatches();
      return Promise.all(calls);
    },
  };
}

test('sends a call at once, and those that come meanwhile as the next batch', async () => {
  const { add, seen, finish } = setUp();
  const calls = ['a', 'b', 'c'].map((item) => add(item));
  expect(seen()).toEqual(['a']);
  expect(await finish(calls)).toEqual(['a!', 'b!', 'c!']);
  expect(seen()).toEqual(['a', 'b c']);
});

test('gives up each item in time, whether its list runs, or it waits for one', async () => {
  const { add, seen, finish } = setUp({ timeout: 200 });
  const calls = await Promise.allSettled([add('running'), add('waiting')]);
  const refused = { status: 'rejected', reason: { code: 'store_unavailable' } };
  expect(calls).toMatchObject([refused, refused]);
  await finish([]);
  expect(seen()).toEqual(['running']);
});

const inPairs = { maxItems: 2, maxRunning: 1, timeout: 100 };

test('gives up in time what goes on without its list', async () => {
  const add = batch<string, string>(async (take) => void take(), inPairs);
  await expect(add('in a part')).rejects.toMatchObject({ code: 'store_unavailable' });
});

test('bounds a batch in items and in size, and sends what is larger than that alone', async () => {
  const { add, seen, finish } = setUp({ maxItems: 3, maxSize: 5 });
  await finish(['0', 'a', 'b', 'c', 'dddd', 'ee', 'ffffffff', 'g'].map((item) => add(item)));
  expect(seen()).toEqual(['0', 'a b c', 'dddd', 'ee', 'ffffffff', 'g']);
});

test('fails all items of a list that fails', async () => {
  const failure = new Error('a defect');
  const add = batch<string, string>((take) => Promise.reject(take() && failure), inPairs);
  const calls = await Promise.allSettled(['first', 'second', 'third'].map(add));
  expect(calls.map((call) => call.status === 'rejected' && call.reason)).toEqual([failure, failure, failure]);
});
