import { beforeEach, describe, expect, test } from '@jest/globals';
import { deliverWebhooks } from '../../../src/application/webhooks/deliver-webhooks.ts';
import type { Failure, Message } from '../../../src/application/webhooks/ports.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { atEnd } from '../../support/lifetimes.ts';
import { fakeStore, recordingObserver, virtualTime } from '../../support/webhooks/fake-webhooks.ts';

const ENDPOINT = 'hooks.example 0123456789abcdef';
const OTHER = 'hooks.example fedcba9876543210';
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

let time: ReturnType<typeof virtualTime>;
let store: ReturnType<typeof fakeStore>;
let seen: ReturnType<typeof recordingObserver>;
/** To ENDPOINT. */
let sent: string[];
let sentToOther: string[];
/** What ENDPOINT responds to a plant. The other one acknowledges each at once. */
let respond: (message: Message) => Promise<Failure | undefined>;
beforeEach(() => {
  time = virtualTime();
  store = fakeStore(time.now, [ENDPOINT, OTHER]);
  seen = recordingObserver();
  sent = [];
  sentToOther = [];
  respond = async () => undefined;
});

/** Starts an instance of the service, until the end of the test at most. @param clock its own, if it may be frozen */
function start({ now = time.now, sleep = time.sleep } = {}) {
  const stop = new AbortController();
  const brokenOff = new Promise<Failure>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve({ reason: 'broken off' }));
  });
  const deliver = deliverWebhooks({
    feed: store.feed,
    positions: store.positions,
    observer: seen.observer,
    now,
    sleep,
    random: () => 0,
    send(endpoint, message) {
      (endpoint === ENDPOINT ? sent : sentToOther).push(message.plant.name);
      return endpoint === ENDPOINT ? Promise.race([respond(message), brokenOff]) : Promise.resolve(undefined);
    },
  });
  const done = deliver(stop.signal);
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
  expect(store.row(ENDPOINT).position).toEqual({ changed: 253n, id: 8n });
  expect(sentToOther).toEqual(sent);
  expect(seen.delivered()).toBe(2 * 251);
});

/** Receivers that respond when they are told to. */
function responses() {
  const waiting: (() => void)[] = [];
  respond = () => new Promise((resolve) => waiting.push(() => resolve(undefined)));
  return {
    async acknowledge(count: number): Promise<void> {
      for (const acknowledge of waiting.splice(0, count)) acknowledge();
      await time.settle();
    },
  };
}

test('sends some tens at once, no more before all of these are acknowledged, and keeps the place after a page', async () => {
  for (let id = 1n; id <= 150n; id++) store.write(id);
  const { acknowledge } = responses();
  start();
  await time.settle();
  expect(sent).toEqual(numbered(1, 32));
  await acknowledge(31);
  expect(sent).toHaveLength(32);
  for (const [count, last] of [
    [1, 64],
    [32, 96],
    [32, 100],
  ] as const) {
    await acknowledge(count);
    expect(sent).toEqual(numbered(1, last));
    expect(store.row(ENDPOINT).position).toEqual({ changed: 0n, id: 0n });
  }
  await acknowledge(4);
  expect(store.row(ENDPOINT).position).toEqual({ changed: 100n, id: 100n });
  expect(sent).toEqual(numbered(1, 132));
});

test('sends what is written after the store was set back, which has fewer changes than were sent', async () => {
  for (let id = 1n; id <= 150n; id++) store.write(id);
  start();
  await time.pass(SECOND);
  expect(sent).toHaveLength(150);
  store.setBack(100n);
  store.write(200n);
  await time.pass(10 * SECOND);
  expect([sent.slice(150), sentToOther.slice(150)]).toEqual([['plant 200'], ['plant 200']]);
});

test('sends nothing of the next page once somebody else has the lease', async () => {
  for (let id = 1n; id <= 150n; id++) store.write(id);
  const { acknowledge } = responses();
  start();
  await time.settle();
  for (const count of [32, 32, 32]) await acknowledge(count);
  store.row(ENDPOINT).holder = 'another';
  await acknowledge(4);
  expect(sent).toEqual(numbered(1, 100));
});

test('an endpoint that does not respond delays no other one', async () => {
  respond = () => new Promise(() => {});
  start();
  for (let id = 1n; id <= 100n; id++) {
    store.write(id);
    await time.pass(SECOND);
  }
  expect(sentToOther).toEqual(numbered(1, 100));
});

describe('after a failure', () => {
  const failing: Failure = { reason: 'it responded with 500' };

  test('sends nothing more, keeps what was acknowledged before it, and then sends the newest states', async () => {
    for (let id = 1n; id <= 100n; id++) store.write(id);
    respond = async ({ id }) => (id === 5n ? failing : undefined);
    start();
    await time.settle();
    expect(sent).toEqual(numbered(1, 32));
    expect(store.row(ENDPOINT)).toMatchObject({
      position: { changed: 4n, id: 4n },
      setback: { failing: { changed: 5n, id: 5n }, reason: 'it responded with 500', failures: 1, retryIn: 5_000 },
    });
    store.write(5n, 'plant 5, changed');
    respond = async () => undefined;
    await time.pass(4 * SECOND);
    expect(sent).toHaveLength(32);
    await time.pass(7 * SECOND);
    expect(sent.slice(32)).toEqual([...numbered(6, 100), 'plant 5, changed']);
    expect(store.row(ENDPOINT).setback).toBeUndefined();
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
    await time.pass(20 * SECOND);
    respond = async ({ id }) => (id === 2n ? failing : undefined);
    await time.pass(160 * SECOND);
    expect(seen.setbacks.slice(0, 4).map(({ failures, failing }) => [failing.id, failures])).toEqual([
      [1n, 1],
      [1n, 2],
      [2n, 1],
      [2n, 2],
    ]);
  });

  test('is not parked by a clock that jumps ahead', async () => {
    store.write(1n);
    respond = async () => failing;
    start();
    await time.settle();
    store.row(ENDPOINT).failingSince -= 120 * HOUR;
    await time.pass(HOUR);
    expect(seen.setbacks.map(({ isParked }) => isParked)).toEqual(Array.from({ length: 6 }, () => false));
    await time.pass(6 * HOUR);
    expect(seen.setbacks.map(({ isParked }) => isParked).indexOf(true)).toBe(9);
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
    for (let id = 1n; id <= 60n; id++) {
      store.write(id);
      await time.pass(SECOND);
    }
    expect(sent).toEqual(numbered(1, 60));
    expect(store.row(ENDPOINT).holder).toBe('1');
    await one.stop();
    store.write(61n);
    await time.pass(5 * SECOND);
    expect(sent).toEqual(numbered(1, 61));
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
    await time.pass(28 * SECOND);
    expect(sent).toHaveLength(32);
    await time.pass(7 * SECOND);
    expect(sent.slice(32)).toEqual(numbered(1, 100));
    const { position, holder } = store.row(ENDPOINT);
    expect(position).toEqual({ changed: 100n, id: 100n });

    isFrozen = false;
    for (const wake of thawed) wake();
    await time.pass(60 * SECOND);
    expect(sent).toHaveLength(132);
    expect(store.row(ENDPOINT)).toMatchObject({ position, holder });
  });
});

test('keeps the lease while a page takes long', async () => {
  for (let id = 1n; id <= 96n; id++) store.write(id);
  respond = async () => {
    await time.sleep(14 * SECOND, new AbortController().signal);
    return undefined;
  };
  for (let instance = 1; instance <= 2; instance++) start();
  await time.pass(42 * SECOND);
  expect(store.row(ENDPOINT)).toMatchObject({ holder: '1', position: { changed: 96n } });
  expect(sent).toEqual(numbered(1, 96));
});

test('begins no wave without the time for it while leases cannot be renewed, and goes on when they can', async () => {
  for (let id = 1n; id <= 96n; id++) store.write(id);
  const { acknowledge } = responses();
  start();
  await time.settle();
  store.setAvailable(false);
  await time.pass(13 * SECOND);
  await acknowledge(32);
  expect(sent).toEqual(numbered(1, 64));
  await time.pass(2 * SECOND);
  await acknowledge(32);
  await time.pass(60 * SECOND);
  expect(sent).toEqual(numbered(1, 64));
  expect(seen.interruptions).toContainEqual(expect.objectContaining({ code: 'store_unavailable' }));
  store.setAvailable(true);
  respond = async () => undefined;
  await time.pass(5 * SECOND);
  // What was acknowledged could not be kept.
  expect(sent.slice(64)).toEqual(numbered(1, 96));
});

test('does not send the same again and again while its place cannot be kept', async () => {
  store.write(1n);
  const { advance } = store.positions;
  store.positions.advance = () => Promise.reject(new PlantStoreError('store_unavailable', 'not now'));
  start();
  await time.pass(9 * SECOND);
  expect(sent).toEqual(['plant 1', 'plant 1']);
  store.positions.advance = advance;
  await time.pass(60 * SECOND);
  expect(sent).toEqual(['plant 1', 'plant 1', 'plant 1']);
});

test('an endpoint that operators set to another place goes on there, once nothing of the lost lease has an effect', async () => {
  store.write(1n);
  const { acknowledge } = responses();
  start();
  await time.settle();
  await acknowledge(1);
  store.write(2n);
  await time.pass(SECOND);
  expect(sent).toEqual(numbered(1, 2));
  Object.assign(store.row(ENDPOINT), { holder: 'an operator', position: { changed: 0n, id: 0n } });
  await time.pass(24 * SECOND);
  expect(store.row(ENDPOINT).holder).toBe('an operator');
  await time.pass(11 * SECOND);
  expect(store.row(ENDPOINT).holder).not.toBe('an operator');
  // The last request is still on its way.
  expect(sent).toEqual(numbered(1, 2));
  await acknowledge(1);
  expect(sent.slice(2)).toEqual(numbered(1, 2));
  expect(store.row(ENDPOINT).position).toEqual({ changed: 0n, id: 0n });
  await acknowledge(2);
  expect(store.row(ENDPOINT).position).toEqual({ changed: 2n, id: 2n });
});

test('an endpoint whose row is gone is reported and gets nothing, and others go on', async () => {
  start();
  await time.settle();
  store.forget(ENDPOINT);
  await time.pass(5 * SECOND);
  expect(seen.missing).toEqual(new Set([ENDPOINT]));
  store.write(1n);
  await time.pass(60 * SECOND);
  expect([sent, sentToOther]).toEqual([[], ['plant 1']]);
});

test('at its end it keeps what was acknowledged, counts no failure, and lets others go on at once', async () => {
  for (let id = 1n; id <= 10n; id++) store.write(id);
  respond = ({ id }) => (id === 4n ? new Promise(() => {}) : Promise.resolve(undefined));
  const instance = start();
  await time.settle();
  await instance.stop();
  expect(seen.setbacks).toEqual([]);
  expect(store.row(ENDPOINT)).toMatchObject({ position: { changed: 3n, id: 3n }, holder: '', setback: undefined });
});
