import { expect, test } from '@jest/globals';
import { heldBackTime } from '../../../src/application/changes/held-back.ts';

test('a transaction whose age was known is not young again when it cannot be asked for', async () => {
  const answers = [{ settled: 1n, age: 60 }];
  const holder = async () => answers.pop() ?? Promise.reject(new Error('lost'));
  const { seconds, secondsNow } = heldBackTime(holder, () => 0);
  expect(await secondsNow()).toBe(60);
  await expect(secondsNow()).rejects.toThrow('lost');
  expect(await seconds()).toBe(60);
});
