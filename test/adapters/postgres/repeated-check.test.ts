import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { SchemaError } from '../../../src/adapters/postgres/failures.ts';
import { repeatedCheck } from '../../../src/adapters/postgres/repeated-check.ts';

test('a check that has passed is waited for again after a pause, and not while it is recent', async () => {
  let isSafe = true;
  const check = async () => {
    if (!isSafe) throw new SchemaError('unsafe');
  };
  const [short, long] = [repeatedCheck(check, 20), repeatedCheck(check, 600_000)];
  await Promise.all([short(), long()]);
  isSafe = false;
  await delay(50);
  await expect(short()).rejects.toThrow('unsafe');
  expect(long()).toBeUndefined();
});
