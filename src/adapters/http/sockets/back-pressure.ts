import type { Connection, Exchange } from '../exchange.ts';

/** Milliseconds, the same as Retry-After: clients that respect it are not affected. */
const MAX_PAUSE = 1_000;

/** Milliseconds between checks for free slots while clients wait, unless slots stay unused. */
const INTERVAL = 10;

/**
 * Pauses the connection of a request that was not admitted, or behind which others wait.
 *
 * After any such response it pauses until this iteration of the event loop ends. Otherwise a client that has sent
 * thousands of requests would keep all others waiting. And while libuv finds a thousand sockets readable, it polls again
 * within the iteration (uv__io_poll), so clients that retry at once would delay timers and new database connections for
 * seconds. After a refusal for overload it pauses until a slot is free, or for a second: otherwise those clients would
 * take processing time from the admitted requests, and the overload would never end.
 *
 * @param freeSlots how many more requests can be admitted
 * @param proceed begins the next request of a connection, or reads it
 * @returns a function to call with each exchange that has ended
 */
export function backPressure(
  freeSlots: () => number,
  proceed: (connection: Connection) => void,
): (exchange: Exchange) => void {
  let untilIterationEnds: Connection[] = [];
  /** Paused for overload, first come, first served. */
  const waiting: { readonly connection: Connection; readonly since: number }[] = [];

  function endIteration(): void {
    const connections = untilIterationEnds;
    untilIterationEnds = [];
    for (const connection of connections) proceed(connection);
  }

  function resumeWaiting(): void {
    const cutoff = performance.now() - MAX_PAUSE;
    const slots = freeSlots();
    const first = waiting.findIndex(({ since }, index) => index >= slots && since > cutoff);
    for (const { connection } of waiting.splice(0, first < 0 ? waiting.length : first)) proceed(connection);
    if (waiting.length > 0) setImmediate(scheduleNext, slots);
  }

  /** Continues at once if the free slots stayed unused; otherwise gives other clients a chance first. */
  function scheduleNext(slots: number): void {
    if (slots > 0 && freeSlots() >= slots) resumeWaiting();
    else setTimeout(resumeWaiting, INTERVAL);
  }

  return function pause(exchange) {
    const { request, connection, resume } = exchange;
    if (resume === 'at once' && connection.waiting.length === 0) {
      proceed(connection);
      return;
    }
    if (!request.complete) {
      // An unwanted body is still arriving, and its end would make Node resume the socket.
      request.once('close', () => pause(exchange));
      return;
    }
    // A later request was read together with the end of that body, and may have been admitted.
    if (connection.exchange !== undefined) return;
    connection.socket.pause();
    if (resume === 'when a slot is free') {
      if (waiting.push({ connection, since: performance.now() }) === 1) setImmediate(resumeWaiting);
    } else if (untilIterationEnds.push(connection) === 1) setImmediate(endIteration);
  };
}
