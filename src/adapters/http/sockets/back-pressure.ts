import type { Socket } from 'node:net';
import { type Exchange, pendingExchange } from '../exchange.ts';

/** The milliseconds of Retry-After: clients that respect it notice nothing. */
const LONGEST_PAUSE = 1_000;

/** Milliseconds between checks for room while clients wait, unless there is some that nobody uses. */
const INTERVAL = 10;

/**
 * Pauses the connection of a request that was answered without being let in.
 *
 * After any such response until this turn of the event loop has ended: while libuv finds a thousand sockets readable it
 * polls again before it ends a turn (uv__io_poll), and clients that ask again at once would keep timers and new
 * connections to the database waiting for seconds. After a refusal for overload until there is room for what comes next,
 * or for a second: else those clients would take the time of the requests that were let in, and there would be no room
 * for ever.
 *
 * @param room how many requests more may be under way
 * @returns what must be called with each exchange that is over
 */
export function backPressure(room: () => number): (exchange: Exchange) => void {
  let untilTurnEnds: Socket[] = [];
  /** Paused for overload, the first come first. */
  const waiting: { readonly socket: Socket; readonly since: number }[] = [];

  function endTurn(): void {
    const sockets = untilTurnEnds;
    untilTurnEnds = [];
    for (const socket of sockets) socket.resume();
  }

  function readOn(): void {
    const longAgo = performance.now() - LONGEST_PAUSE;
    const places = room();
    const first = waiting.findIndex(({ since }, index) => index >= places && since > longAgo);
    for (const { socket } of waiting.splice(0, first < 0 ? waiting.length : first)) socket.resume();
    if (waiting.length > 0) setImmediate(goOn, places);
  }

  /** At once if nobody has used the places that there were; else others than these clients are to have a chance, too. */
  function goOn(places: number): void {
    if (places > 0 && room() >= places) readOn();
    else setTimeout(readOn, INTERVAL);
  }

  return function pause(exchange) {
    const { request, connection, readOn: when } = exchange;
    const { socket } = connection;
    if (when === 'at once') return;
    if (!request.complete) {
      // A body that nobody wants is still coming, and its end would make Node read on.
      request.once('close', () => pause(exchange));
      return;
    }
    // A request behind this one has been read, or is being read, and may have been let in.
    if (pendingExchange(connection) !== undefined) return;
    socket.pause();
    if (when === 'when there is room') {
      if (waiting.push({ socket, since: performance.now() }) === 1) setImmediate(readOn);
    } else if (untilTurnEnds.push(socket) === 1) setImmediate(endTurn);
  };
}
