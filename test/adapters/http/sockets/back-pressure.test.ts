import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Exchange } from '../../../../src/adapters/http/exchange.ts';
import { backPressure } from '../../../../src/adapters/http/sockets/back-pressure.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/* Until when a client is paused. That it is at all: flood.test.ts, overload.test.ts and request-order.test.ts. */

/** Ends exchanges of clients, which have so many requests waiting, and names the clients that are not paused. */
function setUp() {
  const paused = new Set<unknown>();
  const clients = new Map<string, object>();
  const afterExchange = backPressure({
    pauseReading: (connection) => paused.add(connection),
    readNext: (connection) => paused.delete(connection),
  });
  return {
    end(client: string, next: Exchange['next'], waiting = 0) {
      const connection = { waiting: Array(waiting).fill({}) };
      clients.set(client, connection);
      afterExchange({ connection, next } as unknown as Exchange);
    },
    reading: () => [...clients].flatMap(([name, connection]) => (paused.has(connection) ? [] : [name])).join(' '),
  };
}

test('does not pause the client of a request that was admitted', () => {
  const { end, reading } = setUp();
  end('a', 'at once');
  expect(reading()).toBe('a');
});

test('pauses other clients, and those behind whose request others wait, until the iteration of the loop ends', () => {
  const { end, reading } = setUp();
  end('a', 'after this iteration');
  end('b', 'at once', 1);
  expect(reading()).toBe('');
  jest.advanceTimersByTime(1);
  expect(reading()).toBe('a b');
});

test('pauses a client that was refused for overload for a second, whatever others do', () => {
  const { end, reading } = setUp();
  end('a', 'after a second');
  jest.advanceTimersByTime(500);
  end('b', 'after a second', 1);
  jest.advanceTimersByTime(499);
  expect(reading()).toBe('');
  jest.advanceTimersByTime(1);
  expect(reading()).toBe('a');
  jest.advanceTimersByTime(500);
  expect(reading()).toBe('a b');
  expect(jest.getTimerCount()).toBe(0);
});
