import { expect, jest, test } from '@jest/globals';
import { storeReadiness } from '../../../src/adapters/sql/readiness.ts';

test('callers share a check, and a problem is logged once, whatever its number', async () => {
  const [warn, checks] = [jest.fn(), [['late for 5 s', 'full'], ['late for 6 s', 'full'], [undefined], ['full']]];
  const ready = storeReadiness(async () => checks.shift() ?? [], String, { warn });
  expect(await Promise.all([ready(), ready()])).toEqual(['late for 5 s; full', 'late for 5 s; full']);
  for (const words of ['late for 6 s; full', undefined, 'full']) expect(await ready()).toBe(words);
  expect(warn.mock.calls.map(([said]) => said)).toEqual([{ problem: 'late for 5 s; full' }, { problem: 'full' }]);
});
