import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { eventLoopSlots } from '../../../src/adapters/feed/change-feed.ts';

test('lets few go on at once, and many in groups with iterations of the event loop between them', async () => {
  const slot = eventLoopSlots(50);
  expect(await Promise.race([nextIteration('later'), slot().then(() => 'at once')])).toBe('at once');
  let done = 0;
  const all = Promise.all(
    Array.from({ length: 220 }, async () => {
      await slot();
      done++;
    }),
  );
  const seen: number[] = [];
  while (done < 220) {
    await nextIteration();
    seen.push(done);
  }
  await all;
  expect(seen.length).toBeGreaterThanOrEqual(4);
  for (const [index, count] of seen.entries()) expect(count - (seen[index - 1] ?? 0)).toBeLessThanOrEqual(100);
});
