import { expect, jest, test } from '@jest/globals';
import { logTimes } from '../../../src/application/changes/times.ts';

jest.useFakeTimers();
const HOUR = 3_600;
const at = (changed: number) => ({ changed: BigInt(changed), id: 0n });

/** Of a feed that gets a plant each second, for an endpoint that is at one of them. */
function started() {
  let now = 0;
  const times = logTimes();
  return {
    now: () => now,
    pass(seconds: number) {
      for (const end = now + seconds; now < end; times.note(at(++now))) jest.advanceTimersByTime(1_000);
    },
    waiting: (position: number) => times.trackEndpoint({ endpoint: 'e', position: at(position), end: at(now) }),
  };
}

test.each([2, 11, 600, 1_800])('an endpoint that stays %s seconds behind is said to be, all the time', (lag) => {
  const feed = started();
  feed.pass(lag + 1);
  for (; feed.now() < HOUR; feed.pass(1)) {
    const said = feed.waiting(feed.now() - lag);
    expect(said).toBeLessThanOrEqual(lag);
    expect(said).toBeGreaterThan(0.95 * lag - 1.1);
  }
});

test('one that gets nothing waits longer each time, and nothing waits for one with all', () => {
  const feed = started();
  feed.pass(1);
  expect(feed.waiting(1)).toBe(0);
  feed.pass(72 * HOUR);
  expect(feed.waiting(1)).toBeGreaterThan(0.95 * 72 * HOUR);
  expect(feed.waiting(feed.now())).toBe(0);
});

test('one that is rewound waits from then on', () => {
  const feed = started();
  feed.pass(HOUR);
  expect(feed.waiting(HOUR)).toBe(0);
  expect(feed.waiting(0)).toBe(0);
  feed.pass(5);
  expect(feed.waiting(0)).toBe(5);
  expect(feed.waiting(HOUR / 2)).toBe(5);
});

test('nothing waits for one that has all once the database was set back', () => {
  const times = logTimes();
  for (const end of [1, 2, 1]) times.note(at(end));
  expect(times.trackEndpoint({ endpoint: 'e', position: at(1), end: at(1) })).toBe(0);
});
