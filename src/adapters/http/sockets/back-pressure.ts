import type { Socket } from 'node:net';
import { type Exchange, pendingExchange } from '../exchange.ts';

/** Milliseconds, the same as Retry-After: clients that respect it are not affected. */
const MAX_PAUSE = 1_000;

/** Milliseconds between checks for free slots while clients wait, unless slots stay unused. */
const INTERVAL = 10;

/**
 * Pauses the connection of a request that was not admitted.
 *
 * After any such response it pauses until this iteration of the event loop ends: while libuv finds a thousand sockets
 * readable, it polls again within the iteration (uv__io_poll), and clients that retry at once would delay timers and
 * new database connections for seconds. After a refusal for overload it pauses until a slot is free, or for a second:
 * otherwise those clients would take processing time from the admitted requests, and the overload would never end.
 *
 * @param freeSlots how many more requests can be admitted
 * @returns a function to call with each exchange that has ended
 */
export function backPressure(freeSlots: () => number): (exchange: Exchange) => void {
  let untilIterationEnds: Socket[] = [];
  /** Paused for overload, first come, first served. */
  const waiting: { readonly socket: Socket; readonly since: number }[] = [];

  function endIteration(): void {
    const sockets = untilIterationEnds;
    untilIterationEnds = [];
    for (const socket of sockets) socket.resume();
  }

  function resumeWaiting(): void {
    const cutoff = performance.now() - MAX_PAUSE;
    const slots = freeSlots();
    const first = waiting.findIndex(({ since }, index) => index >= slots && since > cutoff);
    for (const { socket } of waiting.splice(0, first < 0 ? waiting.length : first)) socket.resume();
    if (waiting.length > 0) setImmediate(scheduleNext, slots);
  }

  /** Continues at once if the free slots stayed unused; otherwise gives other clients a chance first. */
  function scheduleNext(slots: number): void {
    if (slots > 0 && freeSlots() >= slots) resumeWaiting();
    else setTimeout(resumeWaiting, INTERVAL);
  }

  return function pause(exchange) {
    const { request, connection, resume } = exchange;
    const { socket } = connection;
    if (resume === 'at once') return;
    if (!request.complete) {
      // An unwanted body is still arriving, and its end would make Node resume the socket.
      request.once('close', () => pause(exchange));
      return;
    }
    // A later request has been read, or is being read, and may have been admitted.
    if (pendingExchange(connection) !== undefined) return;
    socket.pause();
    if (resume === 'when a slot is free') {
      if (waiting.push({ socket, since: performance.now() }) === 1) setImmediate(resumeWaiting);
    } else if (untilIterationEnds.push(socket) === 1) setImmediate(endIteration);
  };
}
