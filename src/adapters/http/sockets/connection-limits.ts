import type { Logger } from 'pino';
import type { Connection } from '../exchange.ts';

/** Milliseconds between two warnings of one kind. */
const WARNING_INTERVAL = 60_000;

/**
 * Keeps at most so many connections open. For one too many, the oldest over which no good token has come is closed: a
 * flood of unauthenticated clients pushes out its own, never one that has shown a token. If all others have shown one,
 * the new connection is the oldest without.
 *
 * @returns what must be called with each new connection
 */
export function connectionLimit(most: number, log: Logger): (connection: Connection) => void {
  /** In the order of their opening; those that have become trusted meanwhile are sorted out when one has to go. */
  const untrusted = new Set<Connection>();
  let open = 0;
  let warned = Number.NEGATIVE_INFINITY;

  function closeOldestUntrusted(): void {
    for (const connection of untrusted) {
      untrusted.delete(connection);
      if (connection.isTrusted) continue;
      connection.socket.destroy();
      break;
    }
    const now = performance.now();
    if (now - warned < WARNING_INTERVAL) return;
    warned = now;
    log.warn({ connections: most }, 'too many connections: the oldest without a good token are closed');
  }

  return (connection) => {
    open++;
    untrusted.add(connection);
    connection.socket.once('close', () => {
      open--;
      untrusted.delete(connection);
    });
    if (open > most) closeOldestUntrusted();
  };
}

/**
 * Makes the check whether one read has brought more than so many requests. Their connection is closed then: 64 KiB of
 * them, as much as a read brings, would hold the event loop for a fifth of a second.
 */
export function pipelineLimit(most: number): (connection: Connection) => boolean {
  let last: Connection | undefined;
  let bytesRead = 0;
  let count = 0;
  return (connection) => {
    const { socket } = connection;
    if (socket.destroyed) return true;
    // Node parses all that a read has brought before it reads on.
    if (connection !== last || socket.bytesRead !== bytesRead) {
      last = connection;
      bytesRead = socket.bytesRead;
      count = 0;
    }
    count++;
    if (count > most) socket.destroy();
    return count > most;
  };
}
