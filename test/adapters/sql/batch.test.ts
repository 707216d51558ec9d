import { expect, test } from '@jest/globals';
import { batch } from '../../../src/adapters/sql/batch.ts';
import { atEnd } from '../../support/lifetimes.ts';

/** Lists that end when the test says so, with a result for each item. */
function setUp({ maxSize = 100, timeout = 60_000 } = {}) {
  const lists: string[] = [];
  const { promise, resolve: end } = Promise.withResolvers<void>();
  // Jest would wait for what a failed test has left running.
  atEnd(end);
  const add = batch<string, string>(
    async (take) => {
      const list = take();
      lists.push(list.map(({ item }) => item).join(' '));
      await promise;
      for (const { item, resolve } of list) resolve(`${item}!`);
    },
    { maxSize, maxRunning: 1, timeout },
    (item) => item.length,
  );
  return { add, lists, end };
}

test('sends a call at once, and then lists of a bounded size, large calls alone', async () => {
  const { add, lists, end } = setUp({ maxSize: 5 });
  const items = ['0', 'a', 'b', 'c', 'dddd', 'ee', 'ffffffff', 'g'];
  const calls = Promise.all(items.map(add));
  expect(lists).toEqual(['0']);
  end();
  expect(await calls).toEqual(items.map((item) => `${item}!`));
  expect(lists).toEqual(['0', 'a b c', 'dddd', 'ee', 'ffffffff', 'g']);
});

test('gives up each item in time, whether its list runs, or it waits for one', async () => {
  const { add, lists, end } = setUp({ timeout: 200 });
  const calls = await Promise.allSettled([add('running'), add('waiting')]);
  const refused = { status: 'rejected', reason: { code: 'store_unavailable' } };
  expect(calls).toMatchObject([refused, refused]);
  end();
  await new Promise(setImmediate);
  expect(lists).toEqual(['running']);
});

const inPairs = { maxSize: 2, maxRunning: 1, timeout: 100 };

test('gives up in time what goes on without its list', async () => {
  const add = batch<string, string>(async (take) => void take(), inPairs);
  await expect(add('in a part')).rejects.toMatchObject({ code: 'store_unavailable' });
});

test('fails all items of a list that fails', async () => {
  const failure = new Error('a defect');
  const add = batch<string, string>((take) => Promise.reject(take() && failure), inPairs);
  const calls = await Promise.allSettled(['first', 'second', 'third'].map(add));
  expect(calls.map((call) => call.status === 'rejected' && call.reason)).toEqual([failure, failure, failure]);
});
