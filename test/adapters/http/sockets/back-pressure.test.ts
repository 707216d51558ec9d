import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Exchange } from '../../../../src/adapters/http/exchange.ts';
import { backPressure } from '../../../../src/adapters/http/sockets/back-pressure.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/* Until when a client is paused. That it is at all: flood.test.ts, overload.test.ts and request-order.test.ts. */

/** Exchanges that are over, and the names of the clients whose connections are read. */
function setUp() {
  const reading = new Set<string>();
  function exchange(client: string, resume: Exchange['resume'] = 'when a slot is free', complete = true) {
    reading.add(client);
    const socket = { pause: () => reading.delete(client), resume: () => reading.add(client) };
    const request = Object.assign(new EventEmitter(), { complete });
    const connection = { socket, waiting: [] as object[], exchange: undefined as object | undefined };
    return { request, connection, resume };
  }
  const state = { freeSlots: 0 };
  const pause = backPressure(
    () => state.freeSlots,
    ({ socket }) => socket.resume(),
  );
  const names = () => [...reading].sort().join(' ');
  return { state, exchange, pause: (one: object) => pause(one as Exchange), reading: names };
}

/** Some turns of the event loop, shorter than the interval of checks; the fake clock takes a millisecond for each. */
const turns = () => jest.advanceTimersByTime(5);

test('does not pause the client of a request that was let in', () => {
  const { exchange, pause, reading } = setUp();
  pause(exchange('a', 'at once'));
  expect(reading()).toBe('a');
});

test('reads on at the end of the turn while there is room, whether or not those let go send anything', () => {
  const { state, exchange, pause, reading } = setUp();
  state.freeSlots = 2;
  for (const client of ['a', 'b', 'c', 'd', 'e']) pause(exchange(client));
  expect(reading()).toBe('');
  turns();
  expect(reading()).toBe('a b c d e');
});

test('reads on when there is room again, the first come first', () => {
  const { state, exchange, pause, reading } = setUp();
  for (const client of ['a', 'b']) pause(exchange(client));
  turns();
  jest.advanceTimersByTime(500);
  expect(reading()).toBe('');
  state.freeSlots = 1;
  jest.advanceTimersToNextTimer();
  expect(reading()).toBe('a');
});

test('reads on after a second at the latest', () => {
  const { exchange, pause, reading } = setUp();
  pause(exchange('a'));
  jest.advanceTimersByTime(500);
  pause(exchange('b'));
  jest.advanceTimersByTime(490);
  expect(reading()).toBe('');
  jest.advanceTimersByTime(20);
  expect(reading()).toBe('a');
  jest.advanceTimersByTime(500);
  expect(reading()).toBe('a b');
  expect(jest.getTimerCount()).toBe(0);
});

test('reads a body that nobody wants to its end first', () => {
  const { exchange, pause, reading } = setUp();
  const coming = exchange('a', 'when a slot is free', false);
  pause(coming);
  turns();
  expect(reading()).toBe('a');
  coming.request.complete = true;
  coming.request.emit('close');
  expect(reading()).toBe('');
});

test('does not hold up a request that was read with the end of such a body', () => {
  const { exchange, pause, reading } = setUp();
  const refused = exchange('a', 'when a slot is free', false);
  pause(refused);
  refused.request.complete = true;
  refused.connection.exchange = {};
  refused.request.emit('close');
  turns();
  expect(reading()).toBe('a');
});
