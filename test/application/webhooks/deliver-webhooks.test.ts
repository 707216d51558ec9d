import { setImmediate as nextIteration } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Position } from '../../../src/application/ports.ts';
import { deliverWebhooks } from '../../../src/application/webhooks/deliver-webhooks.ts';
import type {
  DeliveryObserver,
  Entry,
  FailedAttempt,
  Failure,
  KeepPositions,
  Lease,
  LeaseOutcome,
  Message,
  ReadEntries,
} from '../../../src/application/webhooks/ports.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { atEnd } from '../../support/lifetimes.ts';

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
  store = fakeStore(time.now);
  seen = recordingObserver();
  sent = [];
  sentToOther = [];
  respond = async () => undefined;
});

/** Starts an instance of the service, until the end of the test at most. */
function start() {
  const stop = new AbortController();
  const brokenOff = new Promise<Failure>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve({ reason: 'broken off' }));
  });
  const deliver = deliverWebhooks({
    feed: store.feed,
    positions: store.positions,
    observer: seen.observer,
    now: time.now,
    sleep: time.sleep,
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
  return end;
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
  expect(seen.delivered).toBe(2 * 251);
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
  const end = start();
  await time.settle();
  await end();
  expect(seen.setbacks).toEqual([]);
  expect(store.row(ENDPOINT)).toMatchObject({ position: { changed: 3n, id: 3n }, holder: '', setback: undefined });
});

/* What the delivery needs, in memory and in a time of its own. */

/** Milliseconds that pass only in `pass`. */
function virtualTime() {
  let time = 0;
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();
  /** Lets everything go on that does not wait for time. */
  const settle = async () => {
    for (let n = 0; n < 3; n++) await nextIteration();
  };
  return {
    now: () => time,
    sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const sleeper = { at: time + milliseconds, wake };
        function wake(): void {
          sleepers.delete(sleeper);
          signal.removeEventListener('abort', wake);
          resolve();
        }
        signal.addEventListener('abort', wake);
        sleepers.add(sleeper);
      });
    },
    settle,
    async pass(milliseconds: number): Promise<void> {
      const end = time + milliseconds;
      for (;;) {
        await settle();
        const [next] = [...sleepers].sort((a, b) => a.at - b.at);
        if (next === undefined || next.at > end) break;
        time = next.at;
        next.wake();
      }
      time = end;
    },
  };
}

/** Endpoints in a store with a clock. Its feed has pages of 100. */
function fakeStore(now: () => number) {
  const entries: Entry[] = [];
  const start = { position: { changed: 0n, id: 0n } as Position, holder: '', expires: 0, retryAt: 0, failingSince: 0 };
  const rows = new Map(
    [ENDPOINT, OTHER].map((endpoint) => [endpoint, { ...start, setback: undefined as FailedAttempt | undefined }]),
  );
  const waiting: (() => void)[] = [];
  let leases = 0;
  let isAvailable = true;

  const whenAvailable = <T>(work: () => T) =>
    isAvailable ? Promise.resolve().then(work) : Promise.reject(new PlantStoreError('store_unavailable', 'not now'));
  const heldRow = ({ endpoint, holder }: Lease) => {
    const row = rows.get(endpoint);
    return row?.holder === holder ? row : undefined;
  };
  const isBefore = ({ changed }: Position) => entries.some((one) => one.changed > changed);

  const feed: ReadEntries = {
    readEntries: ({ changed }) =>
      whenAvailable(() => ({ epoch: 'epoch', entries: entries.filter((one) => one.changed > changed).slice(0, 100) })),
    async awaitEntries(after, signal) {
      while (!signal.aborted && !isBefore(after)) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
    },
  };
  const positions: KeepPositions = {
    take: (held, milliseconds) =>
      whenAvailable(() => {
        const outcomes = new Map<string, LeaseOutcome>();
        for (const endpoint of [ENDPOINT, OTHER]) {
          const row = rows.get(endpoint);
          if (row === undefined) {
            outcomes.set(endpoint, 'missing');
            continue;
          }
          const { position, setback } = row;
          const lease = held.find((one) => one.endpoint === endpoint);
          const isHeld = row.holder !== '' && row.holder === lease?.holder;
          const isSetBack = isHeld && position.changed < lease.position.changed;
          const isDue =
            isSetBack || (!setback?.isParked && row.retryAt <= now() && (row.holder === '' || row.expires < now()));
          if (isHeld && !isSetBack) outcomes.set(endpoint, 'renewed');
          else {
            if (lease !== undefined) outcomes.set(endpoint, 'lost');
            if (!isDue) continue;
            row.holder = `${++leases}`;
            const { failures } = setback ?? { failures: 0 };
            const failingFor = setback === undefined ? 0 : now() - row.failingSince;
            outcomes.set(endpoint, { endpoint, holder: row.holder, position, failures, failingFor });
          }
          row.expires = now() + milliseconds;
        }
        return outcomes;
      }),
    advance: (lease, { changed, id }) =>
      whenAvailable(() => {
        const row = heldRow(lease);
        if (row !== undefined) Object.assign(row, { position: { changed, id }, setback: undefined });
        return row !== undefined;
      }),
    fail: (lease, setback) =>
      whenAvailable(() => {
        const row = heldRow(lease);
        if (row === undefined) return;
        if (row.setback === undefined) row.failingSince = now();
        Object.assign(row, { holder: '', setback, retryAt: now() + setback.retryIn });
      }),
    release: (held) =>
      whenAvailable(() => {
        for (const lease of held) {
          const row = heldRow(lease);
          if (row !== undefined) row.holder = '';
        }
      }),
  };
  let lastChanged = 0n;
  /** The earlier state is gone then. */
  function put(id: bigint, name: string | undefined): void {
    const before = entries.findIndex((entry) => entry.id === id);
    if (before >= 0) entries.splice(before, 1);
    entries.push({ changed: ++lastChanged, id, stored: name === undefined ? 'deleted' : { id, name } });
    for (const wake of waiting.splice(0)) wake();
  }
  return {
    feed,
    positions,
    /** @throws Error if it is gone */
    row(endpoint: string) {
      const row = rows.get(endpoint);
      if (row === undefined) throw new Error(`${endpoint} has no row`);
      return row;
    },
    /** Sets all back to an earlier state, as a promotion with loss does. */
    setBack(changed: bigint): void {
      lastChanged = changed;
      entries.splice(0, entries.length, ...entries.filter((entry) => entry.changed <= changed));
      for (const row of rows.values()) if (row.position.changed > changed) row.position = { changed, id: changed };
    },
    /** As after a restore to a time before it. */
    forget: (endpoint: string) => rows.delete(endpoint),
    setAvailable(available: boolean) {
      isAvailable = available;
    },
    write: (id: bigint, name = `plant ${id}`) => put(id, name),
    delete: (id: bigint) => put(id, undefined),
  };
}

/** Keeps what happens. */
function recordingObserver() {
  const seen = {
    delivered: 0,
    setbacks: [] as FailedAttempt[],
    interruptions: [] as unknown[],
    missing: new Set<string>(),
  };
  const observer: DeliveryObserver = {
    delivered: (_, plants) => {
      seen.delivered += plants;
    },
    failed: (_, setback) => seen.setbacks.push(setback),
    interrupted: (error) => seen.interruptions.push(error),
    missing: (endpoint) => seen.missing.add(endpoint),
  };
  return Object.assign(seen, { observer });
}
