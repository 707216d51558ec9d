import type { Logger } from 'pino';
import type { Connection } from '../exchange.ts';
import { stopParser } from './stop-parser.ts';

/** Milliseconds between two warnings. */
const WARNING_INTERVAL = 60_000;

/**
 * Limits the number of open connections. Beyond the limit the oldest unauthenticated connection is closed, so that a
 * flood of unauthenticated clients evicts its own connections only. The new one counts as unauthenticated.
 *
 * @returns a function to call with each new connection
 */
export function connectionLimit(limit: number, log: Logger): (connection: Connection) => void {
  /** Oldest first; those authenticated meanwhile are removed when one has to be closed. */
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

/**
 * Creates the check whether a single read has brought more than `limit` requests, which closes the connection: 64 KiB
 * of them, as much as a read brings, would block the event loop for a fifth of a second.
 */
export function pipelineLimit(limit: number): (connection: Connection) => boolean {
  let last: Connection | undefined;
  let bytesRead = 0;
  let count = 0;
  return (connection) => {
    const { socket } = connection;
    if (socket.destroyed) return true;
    // Node parses everything from one read before the next read.
    if (connection !== last || socket.bytesRead !== bytesRead) {
      last = connection;
      bytesRead = socket.bytesRead;
      count = 0;
    }
    count++;
    if (count > limit) {
      stopParser(socket);
      socket.destroy();
    }
    return count > limit;
  };
}
