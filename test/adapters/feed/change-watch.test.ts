import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { changeWatch } from '../../../src/adapters/feed/change-watch.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('wakes its readers twenty times a second while something changes all the time, so that creates have the rest', async () => {
  let changed = 0n;
  let wakes = 0;
  const purged = { changed: 0n, id: 0n };
  const watch = changeWatch(async () => {
    const position = { changed: ++changed, id: 1n };
    return { epoch: '', position, purged_changed: 0n, purged_id: 0n, next: changed + 1n, settled: changed + 1n };
  });
  async function follow(): Promise<void> {
    for (let isNews = true; isNews; wakes++) {
      const cursor = { epoch: '', position: { changed, id: 1n }, purged };
      isNews = await watch.wait(cursor, 30_000, new AbortController().signal);
    }
  }
  for (let n = 0; n < 10; n++) void follow();
  await jest.advanceTimersByTimeAsync(10_000);
  expect(wakes / 10 / 10).toBeCloseTo(20, 0);
  watch.stop();
});
