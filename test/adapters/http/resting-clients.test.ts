import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { restingClients } from '../../../src/adapters/http/resting-clients.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Requests that have been answered, and the names of their clients that are read on. */
function setUp() {
  const reading = new Set<string>();
  function request(client: string, complete = true) {
    reading.add(client);
    const socket = { pause: () => reading.delete(client), resume: () => reading.add(client), _httpMessage: undefined };
    return Object.assign(new EventEmitter(), { complete, socket });
  }
  const state = { room: 0 };
  const rest = restingClients(() => state.room);
  return { state, request, rest: (one: object) => rest(one as IncomingMessage), reading: () => [...reading].join(' ') };
}

/** Some turns of the event loop, less than a look for room apart; the fake clock takes a millisecond for each. */
function turns(): void {
  jest.advanceTimersByTime(5);
}

test('reads on at the end of the turn while there is room, whether or not those let go send anything', () => {
  const { state, request, rest, reading } = setUp();
  state.room = 2;
  for (const client of ['a', 'b', 'c', 'd', 'e']) rest(request(client));
  expect(reading()).toBe('');
  turns();
  expect(reading()).toBe('a b c d e');
});

test('reads on when there is room again, the first come first', () => {
  const { state, request, rest, reading } = setUp();
  for (const client of ['a', 'b']) rest(request(client));
  turns();
  jest.advanceTimersByTime(500);
  expect(reading()).toBe('');
  state.room = 1;
  jest.advanceTimersToNextTimer();
  expect(reading()).toBe('a');
});

test('reads on after a second at the latest', () => {
  const { request, rest, reading } = setUp();
  rest(request('a'));
  jest.advanceTimersByTime(500);
  rest(request('b'));
  jest.advanceTimersByTime(490);
  expect(reading()).toBe('');
  jest.advanceTimersByTime(20);
  expect(reading()).toBe('a');
  jest.advanceTimersByTime(500);
  expect(reading()).toBe('a b');
  expect(jest.getTimerCount()).toBe(0);
});

test('reads a body that nobody wants to its end first', () => {
  const { request, rest, reading } = setUp();
  const coming = request('a', false);
  rest(coming);
  turns();
  expect(reading()).toBe('a');
  coming.complete = true;
  coming.emit('close');
  expect(reading()).toBe('');
});

test('does not hold up a request that came behind the refused one', () => {
  const { request, rest, reading } = setUp();
  const refused = request('a');
  Object.assign(refused.socket, { _httpMessage: {} });
  rest(refused);
  expect(reading()).toBe('a');
});
