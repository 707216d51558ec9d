import { expect, test } from '@jest/globals';
import { semaphore } from '../../../../src/adapters/postgres/calls/semaphore.ts';
import { sharedRuns } from '../../../../src/adapters/postgres/calls/shared-run.ts';
import { type CallState, storeCalls } from '../../../../src/adapters/postgres/calls/store-call.ts';
import type { Database } from '../../../../src/adapters/postgres/database.ts';
import { connectionError, UnknownOutcomeError } from '../../../../src/adapters/postgres/errors.ts';
import { eventually } from '../../../support/eventually.ts';

/* What every statement for a request goes through. */

const never = () => new Promise<never>(() => {});
const lost = () => connectionError(new Error('connection lost'));
const calls = (timeout = 60_000) => storeCalls({ schemaReady: () => undefined, timeout });

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

/** A failure as Postgres or a pooler reports it. */
const refusal = (severity: string, code: string) => Object.assign(new Error('refused'), { severity, code });

/** What a call resolves to that gets this failure first, and then this result. */
function after(failure: unknown, result: string): Promise<string> {
  let attempts = 0;
  const work = async () => {
    if (attempts++ === 0) throw failure;
    return result;
  };
  return calls()(work, (found) => found === 'own');
}

test.each<[string, unknown]>([
  ['no response', new UnknownOutcomeError('no_response', 'late')],
  ['an administrator who ends the connection', refusal('FATAL', '57P01')],
  ['a pooler that has lost its server', refusal('FATAL', '08P01')],
])('gives no result after %s but one that is right whatever became of it', async (_what, failure) => {
  expect(await after(failure, 'own')).toBe('own');
  await expect(after(failure, 'of another')).rejects.toMatchObject({ code: 'store_unavailable' });
});

test.each<[string, unknown]>([
  ['a connection that the server has refused', connectionError(refusal('FATAL', '08P01'))],
  ['a deadlock', refusal('ERROR', '40P01')],
])('gives any result after %s, since nothing was done then', async (_what, failure) => {
  expect(await after(failure, 'of another')).toBe('of another');
});

test('waits for the schema before the work, and begins none if the deadline has passed by then', async () => {
  const ready = Promise.withResolvers<void>();
  const done: string[] = [];
  const callWithin = (timeout: number) => storeCalls({ schemaReady: () => ready.promise, timeout });
  const call = callWithin(60_000)(async () => done.push('work'));
  const late = callWithin(10)(async () => done.push('too late'));
  await expect(late).rejects.toMatchObject({ code: 'store_unavailable' });
  done.push('schema');
  ready.resolve();
  await call;
  await new Promise(setImmediate);
  expect(done).toEqual(['schema', 'work']);
});

test('gives up each call at the deadline, tells the work so, and keeps those that have time', async () => {
  const callStore = calls(100);
  const seen: CallState[] = [];
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

test('pauses longer after each failure, up to a second', async () => {
  const attempts: number[] = [];
  const call = calls(3_000)(async () => {
    attempts.push(performance.now());
    throw lost();
  });
  await expect(call).rejects.toMatchObject({ code: 'store_unavailable' });
  const pauses = attempts.slice(1).map((time, n) => time - (attempts[n] ?? 0));
  // Timers are never early by more than a millisecond, and may be late.
  const least = [50, 100, 200, 400, 800, 1_000];
  expect(pauses.length).toBeGreaterThan(2);
  expect(pauses.length).toBeLessThanOrEqual(least.length);
  for (const [n, pause] of pauses.entries()) expect(pause).toBeGreaterThan((least[n] ?? 0) - 2);
});

test('lets a call that joins the run of another have its own deadline', async () => {
  const share = sharedRuns<string>();
  const slow = semaphore({ connections: 1 } as Database, 'finds');
  const hangs = Promise.withResolvers<string>();
  const read = (timeout: number, work: () => Promise<string>) =>
    calls(timeout)((call) => share('a page', () => slow(work, call)));
  const busy = calls()((call) => slow(() => hangs.promise, call));
  const first = read(50, async () => 'never begun');
  const joined = read(60_000, async () => 'the page');
  await expect(first).rejects.toMatchObject({ code: 'store_unavailable' });
  hangs.resolve('');
  await busy;
  expect(await joined).toBe('the page');
});
