import type { Connection, Exchange } from '../exchange.ts';

/** Milliseconds, the same as Retry-After: clients that respect it are not affected. */
const OVERLOAD_PAUSE = 1_000;

interface Reading {
  readonly pauseReading: (connection: Connection) => void;
  /** Begins the next request of a connection, or reads on until it comes. */
  readonly readNext: (connection: Connection) => void;
}

/**
 * Pauses the connection of a request that was not admitted, or behind which others wait.
 *
 * After any such response it pauses until this iteration of the event loop ends. Otherwise a client that sends one
 * request after another would keep all others waiting. And while libuv finds a thousand sockets readable, it polls
 * again within the iteration (uv__io_poll), so clients that retry at once would delay timers and new database
 * connections for seconds. After a refusal for overload it pauses for a second: otherwise those clients would take
 * processing time from the admitted requests, and the overload would never end.
 *
 * @returns a function to call with each exchange that has ended
 */
export function backPressure({ pauseReading, readNext }: Reading): (exchange: Exchange) => void {
  let untilIterationEnds: Connection[] = [];

  function endIteration(): void {
    const connections = untilIterationEnds;
    untilIterationEnds = [];
    for (const connection of connections) readNext(connection);
  }

  return function afterExchange({ connection, next }) {
    if (next === 'at once' && connection.waiting.length === 0) {
      readNext(connection);
      return;
    }
    pauseReading(connection);
    if (next === 'after a second') setTimeout(readNext, OVERLOAD_PAUSE, connection).unref();
    else if (untilIterationEnds.push(connection) === 1) setImmediate(endIteration);
  };
}
