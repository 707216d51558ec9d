import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { batch } from '../../src/application/batch.ts';
import { projectFile } from '../support/service-process.ts';

/** Lets all batches succeed from now on. What a failed test has left running, Jest would wait for. */
let endBatches = () => {};
afterEach(() => endBatches());

/** Lists that end when the test says so. */
function setUp({ maxItems = 10, maxSize = 100, maxRunning = 1, timeout = 60_000 } = {}) {
  const batches: { items: readonly string[]; succeed: () => void; fail: (error: Error) => void }[] = [];
  let isOver = false;
  endBatches = () => {
    isOver = true;
    for (const { succeed } of batches) succeed();
  };
  const add = batch<string, string>(
    (items) => {
      const { promise, resolve, reject } = Promise.withResolvers<string[]>();
      batches.push({ items, succeed: () => resolve(items.map((item) => `${item}!`)), fail: reject });
      if (isOver) endBatches();
      return promise;
    },
    { maxItems, maxRunning, timeout },
    (item) => item.length,
    maxSize,
  );
  return {
    add: (item: string) => add(() => item),
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
  const { add, seen, finish } = setUp();
  const calls = ['a', 'b', 'c'].map((item) => add(item));
  expect(seen()).toEqual(['a']);
  expect(await finish(calls)).toEqual(['a!', 'b!', 'c!']);
  expect(seen()).toEqual(['a', 'b c']);
});

test('gives up each item in time, whether its list runs or it waits for one, and begins nothing for it', async () => {
  const { add, seen, finish } = setUp({ timeout: 200 });
  const calls = await Promise.allSettled([add('running'), add('waiting')]);
  const refused = { status: 'rejected', reason: { code: 'store_unavailable' } };
  expect(calls).toMatchObject([refused, refused]);
  await finish([]);
  expect(seen()).toEqual(['running']);
});

test('bounds a batch in items and in size, and sends what is larger than that alone', async () => {
  const { add, seen, finish } = setUp({ maxItems: 3, maxSize: 5 });
  await finish(['0', 'a', 'b', 'c', 'dddd', 'ee', 'ffffffff', 'g'].map((item) => add(item)));
  expect(seen()).toEqual(['0', 'a b c', 'dddd', 'ee', 'ffffffff', 'g']);
});

test('an outcome that fails after its item was given up does not end the process', async () => {
  const script = `
    import { batch } from ${JSON.stringify(projectFile('src/application/batch.ts'))};
    const late = async () => [new Promise((_, reject) => setTimeout(reject, 200, new Error('late')))];
    const slow = (items) => new Promise((resolve) => setTimeout(() => resolve(late(items)), 200));
    await batch(slow, { maxItems: 1, maxRunning: 1, timeout: 50 })(() => 'item').catch(({ code }) => console.log(code));
    setTimeout(() => console.log('still there'), 500);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  expect(stdout).toBe('store_unavailable\nstill there\n');
});

test('fails all items of a list that fails, and gives each its own outcome where these come later', async () => {
  const failure = new Error('connection lost');
  const add = batch<string, string>(
    async (items) => {
      if (items.includes('bad')) throw failure;
      return items.map((item) => (item === 'late' ? Promise.reject(failure) : Promise.resolve(item)));
    },
    { maxItems: 2, maxRunning: 1, timeout: 60_000 },
  );
  const calls = await Promise.allSettled(['first', 'good', 'late', 'bad', 'too'].map((item) => add(() => item)));
  const outcomes = calls.map((call) => (call.status === 'rejected' ? call.reason : call.value));
  expect(outcomes).toEqual(['first', 'good', failure, failure, failure]);
});

test('fails a batch that has another number of results than of calls, instead of giving a call the result of another', async () => {
  const add = batch<string, string>(async (items) => items.slice(1), { maxItems: 10, maxRunning: 1, timeout: 60_000 });
  const calls = await Promise.allSettled(['first', 'a', 'b'].map((item) => add(() => item)));
  expect(calls.map((call) => call.status === 'rejected' && call.reason.message)).toEqual([
    '0 outcomes for 1 items',
    '1 outcomes for 2 items',
    '1 outcomes for 2 items',
  ]);
});

test('keeps no timer when all is done', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  const { add, finish } = setUp();
  await finish([add('a')]);
  while (timers() > before) await new Promise(setImmediate);
});
