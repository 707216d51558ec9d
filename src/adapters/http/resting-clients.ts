import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { pendingAnswer } from './parser-refusals.ts';

/** The milliseconds of Retry-After: who keeps to it does not notice. */
const LONGEST_REST = 1_000;

/** Milliseconds between looks for room while clients rest, unless there is some that nobody uses. */
const INTERVAL = 10;

/**
 * Lets clients rest whose request was answered without being let in: what they send next is read when there is room for
 * it, or after a second, but not before this turn of the event loop has ended. Those that ask again at once would take
 * the time of the requests that were let in, so that there would be no room for ever. And while libuv finds a thousand
 * sockets readable it polls again before it ends a turn (uv__io_poll): timers and new connections to the database would
 * wait for seconds.
 *
 * @param room how many requests more may be under way
 * @returns a function that is given each such request once it is answered
 */
export function restingClients(room: () => number): (request: IncomingMessage) => void {
  /** The first come first. */
  const resting: { readonly socket: Socket; readonly since: number }[] = [];

  function readOn(): void {
    const longAgo = performance.now() - LONGEST_REST;
    const places = room();
    const rested = resting.findIndex(({ since }, index) => index >= places && since > longAgo);
    for (const { socket } of resting.splice(0, rested < 0 ? resting.length : rested)) socket.resume();
    if (resting.length > 0) setImmediate(goOn, places);
  }

  /** At once if nobody has used the places that there were; else others than these clients are to have a chance, too. */
  function goOn(places: number): void {
    if (places > 0 && room() >= places) readOn();
    else setTimeout(readOn, INTERVAL);
  }

  return function rest(request) {
    const { complete, socket } = request;
    if (!complete) {
      // A body that nobody wants is still coming, and its end would make Node read on.
      request.once('close', () => rest(request));
      return;
    }
    // A request behind this one has been read, or is being read, and may have been let in.
    if (pendingAnswer(socket)) return;
    socket.pause();
    if (resting.push({ socket, since: performance.now() }) === 1) setImmediate(readOn);
  };
}
