import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { MAX_COUNTED, MISSING_ROW } from '../../../src/adapters/feed/known-endpoint.ts';
import { readiness } from '../../../src/adapters/sqlite/readiness.ts';
import { webhookEndpoints } from '../../../src/adapters/sqlite/webhooks/endpoints.ts';
import { enterEndpoints, webhookPositions } from '../../../src/adapters/sqlite/webhooks/positions.ts';
import type { Position } from '../../../src/application/ports.ts';
import type { FailedAttempt, Lease, LeaseOutcome } from '../../../src/application/webhooks/ports.ts';
import { MIN_INT64 } from '../../../src/domain/plant.ts';
import { embeddedPlants, openEmbedded } from '../../support/embedded-store.ts';
import { forEachTest } from '../../support/lifetimes.ts';

/* The table webhooks in a file of SQLite, by the sentences of postgres/webhooks/webhook-store.test.ts. */

const ENDPOINT = 'hooks.example 0123456789abcdef';
const MINUTE = 60_000;
const START: Position = { changed: 0n, id: MIN_INT64 };

const plant = (id: bigint, name = `plant ${id}`) => ({ id, name });
const setback = (failing: Position, others: Partial<FailedAttempt> = {}): FailedAttempt => ({
  ...{ failing, reason: 'it responded with 500', failures: 1, retryIn: MINUTE, isParked: false },
  ...others,
});
const leasesIn = (outcomes: ReadonlyMap<string, LeaseOutcome>) =>
  [...outcomes.values()].filter((outcome) => typeof outcome === 'object');

const store = forEachTest(async () => {
  const file = await openEmbedded();
  const positions = webhookPositions(file, [ENDPOINT]);
  return {
    file,
    plants: embeddedPlants(file),
    ...positions,
    takeAll: positions.take,
    take: async (milliseconds = MINUTE) => leasesIn(await positions.take([], milliseconds))[0],
    async renew(lease: Lease, milliseconds = MINUTE) {
      const outcome = (await positions.take([lease], milliseconds)).get(lease.endpoint);
      return typeof outcome === 'object' ? 'taken' : outcome;
    },
    enter: () => enterEndpoints(file, [ENDPOINT]),
    endpoints: webhookEndpoints(file),
    query: (text: string) => file.sql.exec(text),
  };
});

async function taken(milliseconds = MINUTE): Promise<Lease> {
  const lease = await store.take(milliseconds);
  if (lease === undefined) throw new Error('the lease is not free');
  return lease;
}
const idsAfter = async (position: Position) => (await store.plants.readEntries(position)).entries.map(({ id }) => id);
const state = async () => (await store.endpoints.states())[0];
const ready = (names = [ENDPOINT]) => readiness(store.file, names, pino({ level: 'silent' }))();

test('a new endpoint begins at the end of the feed, and one that is known stays where it is', async () => {
  await store.plants.add(plant(1n));
  store.enter();
  const { position } = await taken(0);
  expect(await idsAfter(position)).toEqual([]);
  await store.plants.add(plant(2n));
  store.enter();
  await delay(10);
  expect((await taken()).position).toEqual(position);
  expect(await idsAfter(position)).toEqual([2n]);
});

test('an endpoint whose row is gone is reported, and begins anew once the service has started again', async () => {
  store.enter();
  const lease = await taken();
  store.query('delete from webhooks');
  expect(await store.takeAll([], MINUTE)).toEqual(new Map([[ENDPOINT, 'missing']]));
  expect(await store.renew(lease)).toBe('missing');
  expect(await ready()).toBe(`the webhook of ${ENDPOINT} gets nothing: ${MISSING_ROW}`);
  expect(await state()).toBeUndefined();
  store.enter();
  expect(await store.take()).toBeDefined();
});

test('reads pages of a bounded size, each plant once, and deletions without a plant', async () => {
  for (let id = 1n; id <= 450n; id++) void store.plants.add(plant(id));
  for (let id = 451n; id <= 455n; id++) void store.plants.add(plant(id, 'x'.repeat(400_000)));
  await store.plants.add(plant(456n, 'x'.repeat(2_000_000)));
  await store.plants.remove(1n);
  const pages: bigint[][] = [];
  for (let position = START; pages.at(-1)?.length !== 0; ) {
    const { entries } = await store.plants.readEntries(position);
    position = entries.at(-1) ?? position;
    pages.push(entries.map(({ id, plant }) => (plant === undefined ? -id : id)));
  }
  expect(pages.flat()).toEqual([...Array.from({ length: 455 }, (_, n) => BigInt(n + 2)), -1n]);
  expect(pages.map(({ length }) => length)).toEqual([200, 200, 51, 2, 1, 2, 0]);
});

describe('a lease', () => {
  test('is held by one of many who want it, until it is released or expires', async () => {
    store.enter();
    const all = await Promise.all(Array.from({ length: 20 }, () => store.take()));
    const held = all.filter((lease) => lease !== undefined);
    expect(held).toHaveLength(1);
    await store.release(held);
    await taken(1);
    await delay(10);
    expect(await store.take()).toBeDefined();
    expect(await store.take()).toBeUndefined();
  });

  test('can be renewed as long as nobody else has it, and is needed to keep anything', async () => {
    store.enter();
    const first = await taken(1);
    await delay(10);
    expect(await store.renew(first, 1)).toBe('renewed');
    await delay(10);
    const second = await taken();
    expect(await store.renew(first)).toBe('lost');
    expect(await store.renew(second)).toBe('renewed');
    expect(await store.advance(first, { changed: 9n, id: 9n })).toBe(false);
    await store.fail(first, setback({ changed: 1n, id: 1n }));
    await store.release([first]);
    expect(await store.take()).toBeUndefined();
    expect(await state()).toMatchObject({ position: START, failures: 0 });
    // Once repeated.
    for (const _ of [1, 2]) expect(await store.advance(second, { changed: 9n, id: -9n })).toBe(true);
    await store.release([second]);
    const third = await store.takeAll([second], MINUTE);
    expect(leasesIn(third)).toMatchObject([
      { position: { changed: 9n, id: -9n }, holder: expect.not.stringMatching(second.holder) },
    ]);
  });

  test('begins anew where the file was set back, and is free if it expires later than it can', async () => {
    store.enter();
    const lease = await taken();
    await store.advance(lease, { changed: 9n, id: 1n });
    const advanced = { ...lease, position: { changed: 9n, id: 1n } };
    expect(await store.renew(advanced)).toBe('renewed');
    store.query('update webhooks set changed = 3, id = 1');
    const again = (await store.takeAll([advanced], MINUTE)).get(ENDPOINT);
    expect(again).toMatchObject({ position: { changed: 3n, id: 1n } });
    expect(await store.renew(advanced)).toBe('lost');
    store.query(`update webhooks set expires = expires + ${24 * 60 * MINUTE}`);
    expect(await store.take()).toBeDefined();
  });
});

describe('after a failure', () => {
  const failing: Position = { changed: 7n, id: -5n };
  const fail = async (others?: Partial<FailedAttempt>) => {
    store.enter();
    await store.fail(await taken(), setback(failing, others));
  };
  const isDue = () => store.query('update webhooks set retry_at = 1');

  test('there is no lease before the next attempt is due, and then it knows of the failure', async () => {
    await fail();
    expect(await store.take()).toBeUndefined();
    expect(await state()).toMatchObject({ failures: 1, failing, reason: 'it responded with 500', isParked: false });
    expect((await state())?.retryIn).toBeCloseTo(60, -1);
    store.query(`update webhooks set retry_at = 1, failing_since = failing_since - ${120 * MINUTE}`);
    const lease = await taken();
    expect(lease.failures).toBe(1);
    expect(lease.failingFor / MINUTE).toBeCloseTo(120, 0);
    await store.fail(lease, setback(failing, { failures: 2 }));
    isDue();
    const next = await taken();
    expect(next.failingFor / MINUTE).toBeCloseTo(120, 0);
    await store.advance(next, { changed: 8n, id: 1n });
    expect(await state()).toMatchObject({ failures: 0, reason: undefined, failing: undefined, retryIn: 0 });
  });

  test('an attempt that is due later than any can be is left from another clock, and due', async () => {
    await fail();
    store.query(`update webhooks set retry_at = retry_at + ${24 * 60 * MINUTE}`);
    expect(await state()).toMatchObject({ retryIn: 0 });
    await taken();
  });

  test('a parked endpoint waits until it is resumed, and /ready says so', async () => {
    await fail({ isParked: true, reason: 'it responded with 410' });
    isDue();
    expect(await store.take()).toBeUndefined();
    expect(await ready()).toBe(
      `the webhook of ${ENDPOINT} (it responded with 410) is parked: see npm run webhooks -- status`,
    );
    expect(await ready([])).toBeUndefined();
    expect(await store.endpoints.resume(ENDPOINT)).toBe(true);
    expect(await ready()).toBeUndefined();
    expect(await taken()).toMatchObject({ failures: 0, position: START });
  });

  test('what fails can be skipped, unless something else fails by then', async () => {
    await fail();
    expect(await store.endpoints.skip(ENDPOINT, { ...failing, id: 5n })).toBe(false);
    for (const _ of [1, 2]) expect(await store.endpoints.skip(ENDPOINT, failing)).toBe(true);
    const lease = await taken();
    expect(lease).toMatchObject({ failures: 0, position: failing });
    await store.advance(lease, { changed: 8n, id: 1n });
    expect(await store.endpoints.skip(ENDPOINT, failing)).toBe(false);
  });

  test.each<[string, () => Promise<boolean>, Position]>([
    ['resumed', () => store.endpoints.resume(ENDPOINT), START],
    ['rewound', () => store.endpoints.rewind(ENDPOINT), START],
    ['told to skip', () => store.endpoints.skip(ENDPOINT, failing), failing],
  ])('nobody delivers to an endpoint that is %s while its deliverer may begin requests', async (_, act, position) => {
    await fail();
    isDue();
    const lease = await taken();
    expect(await act()).toBe(true);
    expect(await store.renew(lease)).toBe('lost');
    expect(await store.advance(lease, { changed: 9n, id: 9n })).toBe(false);
    expect(await store.take()).toBeUndefined();
    store.query('update webhooks set expires = 1');
    expect((await taken()).position).toEqual(position);
  });
});

test('says how far each endpoint is behind', async () => {
  store.enter();
  expect(await state()).toMatchObject({ backlog: 0, end: START, position: START });
  await Promise.all(Array.from({ length: MAX_COUNTED + 5 }, (_, n) => store.plants.add(plant(BigInt(n)))));
  const { entries } = await store.plants.readEntries({ changed: BigInt(MAX_COUNTED + 4), id: MIN_INT64 });
  const [, last] = entries;
  expect(await state()).toMatchObject({ backlog: MAX_COUNTED, end: { changed: last?.changed, id: last?.id } });
  await store.advance(await taken(), { changed: BigInt(MAX_COUNTED), id: BigInt(MAX_COUNTED) });
  expect((await state())?.backlog).toBe(5);
});
