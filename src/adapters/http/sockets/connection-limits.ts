import type { Socket } from 'node:net';
import type { Logger } from 'pino';

/** Milliseconds between two warnings. */
const WARNING_INTERVAL = 60_000;

/** Those of which a request had a valid token. */
const authenticated = new WeakSet<Socket>();

/** A request of this connection had a valid token: it is never evicted. */
export function keepConnection(socket: Socket): void {
  authenticated.add(socket);
}

/**
 * Limits the number of open connections. Beyond the limit the oldest unauthenticated connection is closed, so that a
 * flood of unauthenticated clients evicts its own connections only. The new connection counts as unauthenticated.
 *
 * @returns a function to call with each new connection
 */
export function connectionLimit(limit: number, log: Logger): (socket: Socket) => void {
  /** Oldest first; connections authenticated meanwhile are removed when a connection has to be closed. */
  const unauthenticated = new Set<Socket>();
  let open = 0;
  let warned = Number.NEGATIVE_INFINITY;

  return (socket) => {
    open++;
    unauthenticated.add(socket);
    socket.once('close', () => {
      open--;
      unauthenticated.delete(socket);
    });
    if (open <= limit) return;
    for (const oldest of unauthenticated) {
      unauthenticated.delete(oldest);
      if (authenticated.has(oldest)) continue;
      oldest.destroy();
      break;
    }
    if (performance.now() - warned < WARNING_INTERVAL) return;
    warned = performance.now();
    log.warn({ connections: limit }, 'too many connections: the oldest unauthenticated ones are closed');
  };
}
