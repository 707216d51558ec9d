import { expect, jest, test } from '@jest/globals';
import { START } from '../../../src/application/changes/cursor.ts';
import { changeWatch } from '../../../src/application/changes/watch.ts';

jest.useFakeTimers();
const delay = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test('wakes its readers at most twenty times a second, so that creates have the rest', async () => {
  let changed = 0n;
  let wakes = 0;
  async function read() {
    const position = { changed: ++changed, id: 1n };
    return { epoch: '', position, purged: START, next: changed + 1n, settled: changed + 1n };
  }
  const watch = changeWatch(read);
  async function follow(thinking: number): Promise<void> {
    for (let isNews = true; isNews; wakes++) {
      const end = await read();
      watch.note(end);
      await delay(thinking);
      isNews = await watch.wait({ ...end, purged: end.position }, 30_000, new AbortController().signal);
    }
  }
  for (let n = 0; n < 10; n++) void follow(n);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(wakes / 10 / 10).toBeCloseTo(20, 0);
  watch.stop();
});
