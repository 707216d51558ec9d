import { expect, test } from '@jest/globals';
import { Kysely } from 'kysely';
import { kyselyDialect } from '../../../src/adapters/postgres/connections/supervised-client.ts';
import { postgres } from '../../../src/adapters/postgres/dialect.ts';
import { ConnectionError, failureOf } from '../../../src/adapters/postgres/failures.ts';
import { type Gate, runner } from '../../../src/adapters/sql/run.ts';

/* What every statement for a request goes through. */

const words = { failureOf, withAdvice: (error: unknown) => error };
const lost = () => new ConnectionError(new Error('connection lost'));
const runnerWithin = (timeout = 60_000, connections = 4, gate: Gate = () => postgres) =>
  runner(
    { sql: new Kysely({ dialect: kyselyDialect(() => Promise.reject()) }), connections, ...words },
    { gate, timeout },
  );
const runWithin = (...options: Parameters<typeof runnerWithin>) => runnerWithin(...options).run;

test('works again after lost connections, backing off to a second; not after a defect', async () => {
  const least = [50, 100, 200, 400, 800, 1_000];
  const attempts: number[] = [];
  const again = runWithin()('reads', async () => {
    attempts.push(performance.now());
    if (attempts.length <= least.length + 1) throw lost();
    return 'done';
  });
  expect(await again).toBe('done');
  const pauses = attempts.slice(1).map((time, n) => time - (attempts[n] ?? 0));
  // Timers are never early by more than a millisecond, and may be late.
  expect(pauses).toHaveLength(least.length + 1);
  for (const [n, pause] of pauses.entries()) expect(pause).toBeGreaterThan((least[n] ?? 1_000) - 2);
  const defect = new Error('a library was used wrongly');
  await expect(runWithin()('reads', () => Promise.reject(defect))).rejects.toBe(defect);
});

test.each([3, 4, 10])(
  'of %i connections, leaves one to reads though all writes hang, imports included',
  async (count) => {
    const run = runWithin(60_000, count);
    const end = Promise.withResolvers<void>();
    let open = 0;
    const writes = Array.from({ length: 2 * count }, (_, n) =>
      run(n % 2 === 0 ? 'writes' : 'backgroundWrites', () => {
        open++;
        return end.promise;
      }),
    );
    expect(await run('reads', async () => open)).toBeLessThan(count);
    end.resolve();
    await Promise.all(writes);
  },
);

test('gives up at the deadline what runs and what waits for its lane', async () => {
  const { run, executeWithRetry } = runnerWithin(100, 1);
  const hangs = Promise.withResolvers<string>();
  const running = run('backgroundReads', () => hangs.promise);
  const done: string[] = [];
  const waiting = run('backgroundReads', async () => done.push('late'));
  const cause = { message: expect.stringMatching(/^no outcome within \d+ ms$/) };
  const refused = { status: 'rejected', reason: { code: 'store_unavailable', cause } };
  expect(await Promise.allSettled([running, waiting])).toMatchObject([refused, refused]);
  const next = executeWithRetry('backgroundReads', async () => 'next', { until: performance.now() + 60_000 });
  hangs.resolve('at last');
  expect([await next, done]).toEqual([{ result: 'next' }, []]);
});

test('begins no work whose deadline passes while it waits for its transaction', async () => {
  const free = Promise.withResolvers<void>();
  const sql = new Kysely<unknown>({ dialect: kyselyDialect(() => Promise.reject()) });
  const transaction = <T>(work: (within: typeof sql, end: number) => Promise<T>) =>
    free.promise.then(() => work(sql, Number.POSITIVE_INFINITY));
  const options = { gate: () => postgres, timeout: 60_000 };
  const { run, executeWithRetry } = runner({ sql, transaction, connections: 1, ...words }, options);
  const done: string[] = [];
  const until = performance.now() + 10;
  const late = executeWithRetry('writes', async () => done.push('late'), { until });
  while (performance.now() < until) await new Promise(setImmediate);
  free.resolve();
  expect(await late).toMatchObject({ failure: { error: { code: 'store_unavailable' } } });
  await run('writes', async () => done.push('next'));
  expect(done).toEqual(['next']);
});

test('keeps no timer when all is done, or has failed', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  const run = runWithin(600_000);
  for (let calls = 0; calls < 10; calls++) {
    await run('reads', async () => {});
    await expect(run('reads', () => Promise.reject(new TypeError('a defect')))).rejects.toThrow('a defect');
  }
  // Fewer than one each of a kind: others may begin some meanwhile.
  expect(timers() - before).toBeLessThan(10);
});
