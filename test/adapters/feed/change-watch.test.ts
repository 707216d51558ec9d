import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { changeWatch } from '../../../src/adapters/feed/change-watch.ts';
import type { FeedEnd } from '../../../src/adapters/feed/feed-reader.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const endAt = (changed: bigint): FeedEnd => {
  const position = { changed, id: 1n };
  return { epoch: 'epoch', position, purged_changed: 0n, purged_id: 0n, next: changed + 1n, settled: changed + 1n };
};

/** How often each of so many readers is woken within ten seconds in which something changes all the time. */
async function wakesOf(readers: number): Promise<number> {
  let last = 0n;
  const watch = changeWatch(async () => endAt(++last));
  let wakes = 0;
  async function follow(): Promise<void> {
    for (let end: FeedEnd | undefined = endAt(0n); end !== undefined; wakes++) {
      const { epoch, position } = end;
      const cursor = { epoch, position, purged: { changed: 0n, id: 0n } };
      end = await watch.wait(cursor, 30_000, new AbortController().signal);
    }
  }
  for (let n = 0; n < readers; n++) void follow();
  await jest.advanceTimersByTimeAsync(10_000);
  const before = wakes;
  watch.stop();
  return before / readers;
}

test.each([
  [1, 180],
  [20, 66],
  [1_000, 20],
])(
  'wakes %i readers about %i times in ten seconds of constant changes, so that creates have the rest',
  async (readers, times) => {
    const wakes = await wakesOf(readers);
    expect(wakes).toBeGreaterThan(times * 0.9);
    expect(wakes).toBeLessThan(times * 1.1);
  },
);
