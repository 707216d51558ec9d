import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** The milliseconds of Retry-After: who keeps to it does not notice. */
const LONGEST_REST = 1_000;

/** Milliseconds between looks for room while clients rest. */
const INTERVAL = 10;

/**
 * Lets refused clients rest: what they send next is read when there is room for it, or after a second, but not before
 * this turn of the event loop has ended. Those that ask again at once would take the time of the requests that were let
 * in, so that there would be no room for ever. And while libuv finds a thousand sockets readable it polls again before
 * it ends a turn (uv__io_poll): timers and new connections to the database would wait for seconds.
 *
 * @param room how many requests more may be under way
 * @returns a function that is given each request once it is answered
 */
export function refusedClients(room: () => number): (request: IncomingMessage) => void {
  /** The first come first. */
  const resting: { readonly socket: Socket; readonly since: number }[] = [];

  function readOn(): void {
    const longAgo = performance.now() - LONGEST_REST;
    const places = room();
    const rested = resting.findIndex(({ since }, index) => index >= places && since > longAgo);
    for (const { socket } of resting.splice(0, rested < 0 ? resting.length : rested)) socket.resume();
    if (resting.length > 0) setTimeout(readOn, INTERVAL);
  }

  return function rest(request) {
    // Node reads on by itself when it has read all of a request.
    if (!request.complete) {
      request.once('close', () => rest(request));
      return;
    }
    const { socket } = request;
    socket.pause();
    if (resting.push({ socket, since: performance.now() }) === 1) setImmediate(readOn);
  };
}
