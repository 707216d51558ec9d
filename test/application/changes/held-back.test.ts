import { expect, test } from '@jest/globals';
import { heldBackTime } from '../../../src/application/changes/held-back.ts';

test('a transaction whose age was known is not young again when it cannot be asked for', async () => {
  const answers = [{ settled: 1n, age: 60 }];
  const { seconds, secondsNow } = heldBackTime(async () => answers.pop() ?? Promise.reject(new Error('lost')));
  expect(await secondsNow()).toBeCloseTo(60, 0);
  await expect(secondsNow()).rejects.toThrow('lost');
  expect(await seconds()).toBeCloseTo(60, 0);
});
