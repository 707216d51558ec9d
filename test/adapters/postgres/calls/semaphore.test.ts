import { expect, test } from '@jest/globals';
import { semaphore } from '../../../../src/adapters/postgres/calls/semaphore.ts';
import type { CallState } from '../../../../src/adapters/postgres/calls/store-call.ts';
import { connect, migratedDatabase } from '../../../support/test-database.ts';

test('lets callers go that have timed out behind a statement that hangs', async () => {
  const run = semaphore({ ...connect((await migratedDatabase()).url), connections: 1 }, 'long');
  const hangs = Promise.withResolvers<string>();
  const first = run(() => hangs.promise, { isOpen: true, maxShared: 1 });
  const late: { isOpen: boolean } & CallState = { isOpen: true, maxShared: 1 };
  const waiting = run(async () => 'late', late);
  late.isOpen = false;
  const next = run(async () => 'next', { isOpen: true, maxShared: 1 });
  await expect(waiting).rejects.toThrow('the call has timed out');
  hangs.resolve('first');
  expect(await Promise.all([first, next])).toEqual(['first', 'next']);
});
