import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { LogEntry, Position } from '../../../src/application/changes/ports.ts';
import { type Delivery, deliverToEndpoint } from '../../../src/application/webhooks/deliver-to-endpoint.ts';
import type { DeliveryFailure, Lease, Message, SendError } from '../../../src/application/webhooks/ports.ts';

/* What one endpoint gets, and when it is tried again. Several instances, leases, kills and clocks: test/simulation. */

const HOUR = 3_600_000;
const FAILURE: SendError = { reason: 'it responded with 500' };

const at = (n: number): Position => ({ changed: BigInt(n), id: BigInt(n) });
const entry = (n: number): LogEntry => ({ ...at(n), stored: { id: BigInt(n), name: `plant ${n}` } });
const entries = (count: number) => Array.from({ length: count }, (_, n) => entry(n + 1));
const ids = (count: number) => entries(count).map(({ id }) => id);
const lease = (part: Partial<Lease> = {}): Lease => {
  return { endpoint: 'endpoint', holder: '1', position: at(0), failures: 0, failingFor: 0, ...part };
};

/** Delivers in pages of 100, to the end of the feed or a failure. @param isHeld whether the holder keeps its lease */
async function deliver(
  feed: readonly LogEntry[],
  respond: (message: Message, end: AbortController) => Promise<SendError | undefined> = async () => undefined,
  first = lease(),
  isHeld = true,
) {
  const end = new AbortController();
  const seen = { sent: [] as bigint[], positions: [] as Position[], attempts: [] as DeliveryFailure[], delivered: 0 };
  const delivery: Delivery = {
    feed: {
      async readEntries({ changed }) {
        return { epoch: 'epoch', entries: feed.filter((one) => one.changed > changed).slice(0, 100) };
      },
      awaitEntries: async () => end.abort(),
    },
    positions: {
      advance: async (_lease, { changed, id }) => seen.positions.push({ changed, id }) > 0 && isHeld,
      fail: async (_lease, attempt) => void seen.attempts.push(attempt),
      release: async () => {},
    },
    send(_endpoint, message) {
      seen.sent.push(message.id);
      return respond(message, end);
    },
    beginWave: () => 32,
    observer: {
      delivered(_endpoint, plants) {
        seen.delivered += plants;
      },
      failed() {},
      interrupted: (error) => Promise.reject(error),
    },
  };
  await deliverToEndpoint(
    delivery,
    first,
    () => true,
    end.signal,
    () => {},
  );
  return seen;
}

test('sends as many at once as it may, and no more before all are acknowledged', async () => {
  let running = 0;
  const most: number[] = [];
  await deliver(entries(70), async ({ id }) => {
    most.push(++running);
    for (let n = 0; n <= Number(id % 7n); n++) await nextIteration();
    running--;
    return undefined;
  });
  expect(most).toEqual([32, 32, 6].flatMap((count) => Array.from({ length: count }, (_, n) => n + 1)));
});

test('sends nothing after a failure, and keeps what was acknowledged before it', async () => {
  const { sent, positions, attempts, delivered } = await deliver(entries(100), async ({ id }) =>
    id === 5n ? FAILURE : undefined,
  );
  expect(sent).toEqual(ids(32));
  expect([positions, delivered]).toEqual([[at(4)], 31]);
  expect(attempts).toMatchObject([{ failing: at(5), ...FAILURE, failures: 1, isParked: false }]);
});

test.each<[what: string, part: Partial<Lease>, failure: Partial<SendError>, seconds: number, isParked: boolean]>([
  ['a first failure', {}, {}, 5, false],
  ['a second one', { failures: 1 }, {}, 30, false],
  ['a third one', { failures: 2 }, {}, 120, false],
  ['a fourth one', { failures: 3 }, {}, 600, false],
  ['a fifth one', { failures: 4 }, {}, 1_800, false],
  ['later ones', { failures: 70, failingFor: 71 * HOUR }, {}, 3_600, false],
  ['three days', { failures: 9, failingFor: 72 * HOUR }, {}, 3_600, true],
  ['days that a clock has jumped', { failures: 8, failingFor: 120 * HOUR }, {}, 3_600, false],
  ['a Retry-After of a minute', {}, { retryAfter: 60_000 }, 60, false],
  ['one of less than the wait would be', {}, { retryAfter: 1_000 }, 5, false],
  ['one of a day, which is too long', {}, { retryAfter: 24 * HOUR }, 3_600, false],
  ['an endpoint that is gone', {}, { isGone: true }, 5, true],
])('after %s, it is tried again in time, or parked', async (_what, part, failure, seconds, isParked) => {
  const { attempts } = await deliver(entries(1), async () => ({ ...FAILURE, ...failure }), lease(part));
  expect(attempts).toMatchObject([{ isParked }]);
  const [{ retryIn } = { retryIn: 0 }] = attempts;
  // Up to a tenth longer, at random.
  expect([retryIn >= seconds * 1_000, retryIn <= seconds * 1_100]).toEqual([true, true]);
});

test('sends nothing of the next page once somebody else has the lease', async () => {
  const { sent } = await deliver(entries(150), undefined, lease(), false);
  expect(sent).toEqual(ids(100));
});

test('at its end it keeps what was acknowledged, and counts no failure', async () => {
  const { positions, attempts } = await deliver(entries(10), async ({ id }, end) => {
    if (id !== 4n) return undefined;
    end.abort();
    return { reason: 'broken off' };
  });
  expect([positions, attempts]).toEqual([[at(3)], []]);
});
