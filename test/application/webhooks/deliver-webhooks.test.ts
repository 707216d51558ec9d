import { beforeEach, describe, expect, test } from '@jest/globals';
import { deliverWebhooks } from '../../../src/application/webhooks/deliver-webhooks.ts';
import type { Failure, Message } from '../../../src/application/webhooks/ports.ts';
import { atEnd } from '../../support/lifetimes.ts';
import { fakeStore, recordingObserver, virtualTime } from '../../support/webhooks/fake-webhooks.ts';

const ENDPOINT = 'hooks.example 0123456789abcdef';
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

let time: ReturnType<typeof virtualTime>;
let store: ReturnType<typeof fakeStore>;
let seen: ReturnType<typeof recordingObserver>;
let sent: string[];
/** What the receiver responds to a plant. */
let respond: (message: Message) => Promise<Failure | undefined>;
beforeEach(() => {
  time = virtualTime();
  store = fakeStore(time.now);
  seen = recordingObserver();
  sent = [];
  respond = async () => undefined;
});

/** Starts an instance of the service, until the end of the test at most. @param clock its own, if it may be frozen */
function start({ now = time.now, sleep = time.sleep } = {}) {
  const stop = new AbortController();
  const deliver = deliverWebhooks({
    feed: store.feed,
    positions: store.positions,
    observer: seen.observer,
    now,
    sleep,
    random: () => 0,
    send(_, message) {
      sent.push(message.record);
      return respond(message);
    },
  });
  const done = deliver(ENDPOINT, stop.signal);
  const end = async () => {
    stop.abort();
    await done;
  };
  atEnd(end);
  return { stop: end };
}

const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => `plant ${from + n}`);

test('sends every plant that is new or has changed once, and no deletion', async () => {
  for (let id = 1n; id <= 250n; id++) store.write(id);
  store.delete(251n);
  start();
  await time.pass(SECOND);
  expect(sent).toEqual(numbered(1, 250));
  store.write(7n, 'plant 7, changed');
  store.delete(8n);
  await time.pass(SECOND);
  expect(sent.slice(250)).toEqual(['plant 7, changed']);
  expect(store.row().position).toEqual({ changed: 253n, id: 8n });
  expect(seen.delivered()).toBe(251);
});

test('sends some tens at once, and none of a page before the last one is acknowledged', async () => {
  for (let id = 1n; id <= 150n; id++) store.write(id);
  const waiting: (() => void)[] = [];
  respond = () => new Promise((resolve) => waiting.push(() => resolve(undefined)));
  const acknowledgeAll = async () => {
    for (; waiting.length > 0; await time.settle()) waiting.shift()?.();
  };
  start();
  await time.pass(SECOND);
  expect(sent).toEqual(numbered(1, 32));
  const first = waiting.shift();
  await acknowledgeAll();
  // The page has 100.
  expect(sent).toEqual(numbered(1, 100));
  expect(store.row().position).toEqual({ changed: 0n, id: 0n });
  first?.();
  await time.settle();
  expect(store.row().position).toEqual({ changed: 100n, id: 100n });
  expect(sent).toEqual(numbered(1, 132));
  respond = async () => undefined;
  await acknowledgeAll();
  expect(sent).toEqual(numbered(1, 150));
});

describe('after a failure', () => {
  const failing: Failure = { reason: 'it responded with 500' };

  test('sends nothing more, keeps what was acknowledged before it, and then sends the newest states', async () => {
    for (let id = 1n; id <= 100n; id++) store.write(id);
    respond = async ({ id }) => (id === 5n ? failing : undefined);
    start();
    await time.settle();
    // Four were acknowledged before.
    expect(sent).toEqual(numbered(1, 36));
    expect(store.row()).toMatchObject({
      position: { changed: 4n, id: 4n },
      setback: { failing: { changed: 5n, id: 5n }, reason: 'it responded with 500', failures: 1, retryIn: 5_000 },
    });
    store.write(5n, 'plant 5, changed');
    respond = async () => undefined;
    await time.pass(4 * SECOND);
    expect(sent).toHaveLength(36);
    await time.pass(3 * SECOND);
    expect(sent.slice(36)).toEqual([...numbered(6, 100), 'plant 5, changed']);
    expect(store.row().setback).toBeUndefined();
  });

  test('waits longer each time, up to an hour, until it is parked after three days', async () => {
    store.write(1n);
    respond = async () => failing;
    start();
    await time.pass(80 * HOUR);
    const delays = seen.setbacks.map(({ retryIn }) => retryIn / SECOND);
    expect(delays.slice(0, 8)).toEqual([5, 30, 120, 600, 1_800, 3_600, 3_600, 3_600]);
    expect(new Set(delays.slice(5))).toEqual(new Set([3_600]));
    expect(seen.setbacks.filter(({ isParked }) => isParked)).toHaveLength(1);
    expect(seen.setbacks.at(-1)).toMatchObject({ isParked: true, failures: seen.setbacks.length });
    // The first hours have more attempts than one.
    expect(seen.setbacks.length).toBeGreaterThan(72);
    expect(seen.setbacks.length).toBeLessThan(80);
  });

  test('begins again with the shortest wait once there is progress', async () => {
    store.write(1n);
    store.write(2n);
    respond = async () => failing;
    start();
    await time.pass(30 * SECOND);
    respond = async ({ id }) => (id === 2n ? failing : undefined);
    await time.pass(160 * SECOND);
    expect(seen.setbacks.slice(0, 4).map(({ failures, failing }) => [failing.id, failures])).toEqual([
      [1n, 1],
      [1n, 2],
      [2n, 1],
      [2n, 2],
    ]);
  });

  test.each([
    ['a minute', 60 * SECOND, 60],
    ['less than the wait would be', SECOND, 5],
    ['a day, which is too long', 24 * HOUR, 3_600],
  ])('honours a Retry-After of %s', async (_, retryAfter, seconds) => {
    store.write(1n);
    respond = async () => ({ ...failing, retryAfter });
    start();
    await time.settle();
    expect(seen.setbacks).toMatchObject([{ retryIn: seconds * SECOND }]);
  });

  test('parks an endpoint that is gone at once', async () => {
    store.write(1n);
    respond = async () => ({ reason: 'it responded with 410', isGone: true });
    start();
    await time.pass(2 * HOUR);
    expect(seen.setbacks).toMatchObject([{ isParked: true }]);
    expect(sent).toHaveLength(1);
  });
});

describe('of several instances', () => {
  test('one delivers, and another one soon after it has ended', async () => {
    const one = start();
    start();
    for (let id = 1n; id <= 20n; id++) {
      store.write(id);
      await time.pass(SECOND);
    }
    expect(sent).toEqual(numbered(1, 20));
    expect(store.row().holder).toBe('1');
    await one.stop();
    store.write(21n);
    await time.pass(3 * SECOND);
    expect(sent).toEqual(numbered(1, 21));
  });

  test('another one takes over from one that is frozen, which sends nothing more when it wakes up', async () => {
    let isFrozen = false;
    const thawed: (() => void)[] = [];
    const whileAwake = () => (isFrozen ? new Promise<void>((resolve) => thawed.push(resolve)) : undefined);
    start({
      sleep: async (milliseconds, signal) => {
        await time.sleep(milliseconds, signal);
        await whileAwake();
      },
    });
    await time.settle();
    for (let id = 1n; id <= 100n; id++) store.write(id);
    // Its requests have left, and it does not learn of the responses.
    respond = async () => {
      isFrozen = true;
      await whileAwake();
      return undefined;
    };
    await time.pass(SECOND);
    expect(sent).toEqual(numbered(1, 32));

    respond = async () => undefined;
    start();
    await time.pass(8 * SECOND);
    expect(sent).toHaveLength(32);
    await time.pass(5 * SECOND);
    expect(sent.slice(32)).toEqual(numbered(1, 100));
    const { position, holder } = store.row();
    expect(position).toEqual({ changed: 100n, id: 100n });

    isFrozen = false;
    for (const wake of thawed) wake();
    await time.pass(60 * SECOND);
    expect(sent).toHaveLength(132);
    expect(store.row()).toMatchObject({ position, holder });
  });
});

test('keeps the lease while a page takes long', async () => {
  store.write(1n);
  respond = async () => {
    await time.sleep(14 * SECOND, new AbortController().signal);
    return undefined;
  };
  for (let instance = 1; instance <= 2; instance++) start();
  await time.pass(14 * SECOND);
  expect(store.row()).toMatchObject({ holder: '1', position: { changed: 1n } });
  expect(sent).toEqual(['plant 1']);
});

test('sends nothing more once it cannot renew the lease, and goes on when it can', async () => {
  for (let id = 1n; id <= 64n; id++) store.write(id);
  respond = async () => {
    await time.sleep(14 * SECOND, new AbortController().signal);
    return undefined;
  };
  start();
  await time.settle();
  store.setAvailable(false);
  await time.pass(15 * SECOND);
  expect(sent).toEqual(numbered(1, 32));
  expect(seen.interruptions).toMatchObject([{ code: 'store_unavailable' }]);
  respond = async () => undefined;
  await time.pass(60 * SECOND);
  expect(sent).toHaveLength(32);
  store.setAvailable(true);
  await time.pass(5 * SECOND);
  expect(sent.slice(32)).toEqual(numbered(1, 64));
});

test('at its end it keeps what was acknowledged, counts no failure, and lets others go on at once', async () => {
  for (let id = 1n; id <= 10n; id++) store.write(id);
  const broken: (() => void)[] = [];
  respond = ({ id }) =>
    id === 4n
      ? new Promise((resolve) => broken.push(() => resolve({ reason: 'broken off' })))
      : Promise.resolve(undefined);
  const instance = start();
  await time.settle();
  const stopped = instance.stop();
  for (const breakOff of broken) breakOff();
  await stopped;
  expect(seen.setbacks).toEqual([]);
  expect(store.row()).toMatchObject({ position: { changed: 3n, id: 3n }, holder: '', setback: undefined });
});

test('does not wait a second time for a store that has just failed, not even to end the lease', async () => {
  const instance = start();
  await time.settle();
  const released: string[] = [];
  store.positions.release = async ({ holder }) => {
    released.push(holder);
  };
  store.setAvailable(false);
  await time.pass(SECOND);
  expect(seen.interruptions).toHaveLength(1);
  await instance.stop();
  expect(released).toEqual([]);
});
