import { expect, test } from '@jest/globals';
import { connectionError } from '../../../src/adapters/postgres/errors.ts';
import { type StoreCall, storeCalls } from '../../../src/adapters/postgres/store-call.ts';
import { eventually } from '../../support/eventually.ts';

/* What every statement for a request goes through. */

const never = () => new Promise<never>(() => {});
const lost = () => connectionError(new Error('connection lost'));
const calls = (timeout = 60_000) => storeCalls({ schemaReady: () => undefined, timeout });

test('resolves to what the work does, each call to its own', async () => {
  const callStore = calls();
  const results = [1, 2, 3].map((n) => callStore(async () => n));
  expect(await Promise.all(results)).toEqual([1, 2, 3]);
});

test('does the work again after a lost connection, and not after a defect', async () => {
  let attempts = 0;
  const again = calls()(async () => {
    attempts++;
    if (attempts < 3) throw lost();
    return 'done';
  });
  expect(await again).toBe('done');
  expect(attempts).toBe(3);
  const defect = new Error('a library was used wrongly');
  await expect(calls()(() => Promise.reject(defect))).rejects.toBe(defect);
});

test('waits for the schema before the work', async () => {
  const ready = Promise.withResolvers<void>();
  const done: string[] = [];
  const callStore = storeCalls({ schemaReady: () => ready.promise, timeout: 60_000 });
  const call = callStore(async () => done.push('work'));
  done.push('schema');
  ready.resolve();
  await call;
  expect(done).toEqual(['schema', 'work']);
});

test('gives up each call at the deadline, tells the work so, and keeps those that have time', async () => {
  const callStore = calls(100);
  const seen: StoreCall[] = [];
  const overdue = [1, 2, 3].map(() =>
    callStore((call) => {
      seen.push(call);
      return never();
    }),
  );
  expect(await callStore(async () => 'in time')).toBe('in time');
  const refused = { status: 'rejected', reason: { code: 'store_unavailable', cause: { name: 'DeadlineError' } } };
  expect(await Promise.allSettled(overdue)).toMatchObject([refused, refused, refused]);
  expect(seen.map(({ isOpen }) => isOpen)).toEqual([false, false, false]);
});

test('keeps no timer when all is done', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  await calls()(async () => {});
  await eventually(async () => timers() <= before + 1);
});
