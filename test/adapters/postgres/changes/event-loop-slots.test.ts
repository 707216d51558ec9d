import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { eventLoopSlots } from '../../../../src/adapters/postgres/changes/event-loop-slots.ts';

test('lets few go on at once, and many in groups with turns of the event loop between them', async () => {
  const myTurn = eventLoopSlots(50);
  expect(myTurn()).toBeUndefined();
  await nextIteration();
  let done = 0;
  const all = Promise.all(
    Array.from({ length: 220 }, async () => {
      await myTurn();
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

test('forgets its turns when nobody comes', async () => {
  const myTurn = eventLoopSlots(2);
  for (let time = 0; time < 3; time++) {
    expect([myTurn(), myTurn()]).toEqual([undefined, undefined]);
    await nextIteration();
    await nextIteration();
  }
});
