import type { Logger } from 'pino';
import type { Connection } from '../exchange.ts';

/** Milliseconds between two warnings. */
const WARNING_INTERVAL = 60_000;

/**
 * Limits the number of open connections. Beyond the limit the oldest unauthenticated connection is closed, so that a
 * flood of unauthenticated clients evicts its own connections only. The new connection counts as unauthenticated.
 *
 * @returns a function to call with each new connection
 */
export function connectionLimit(limit: number, log: Logger): (connection: Connection) => void {
  /** Oldest first; connections authenticated meanwhile are removed when a connection has to be closed. */
  const unauthenticated = new Set<Connection>();
  let open = 0;
  let warned = Number.NEGATIVE_INFINITY;

  function closeOldestUnauthenticated(): void {
    for (const connection of unauthenticated) {
      unauthenticated.delete(connection);
      if (connection.isAuthenticated) continue;
      connection.socket.destroy();
      break;
    }
    const now = performance.now();
    if (now - warned < WARNING_INTERVAL) return;
    warned = now;
    log.warn({ connections: limit }, 'too many connections: the oldest unauthenticated ones are closed');
  }

  return (connection) => {
    open++;
    unauthenticated.add(connection);
    connection.socket.once('close', () => {
      open--;
      unauthenticated.delete(connection);
    });
    if (open > limit) closeOldestUnauthenticated();
  };
}
