import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';

/** Connections over which a good token has come. */
const trusted = new WeakSet<Socket>();

/** Keeps a connection from being closed to make room for others. */
export function trust(socket: Socket): void {
  trusted.add(socket);
}

/** Milliseconds between two warnings of one kind. */
const WARNING_INTERVAL = 60_000;

/**
 * Keeps at most so many connections open. For one too many, the oldest over which no good token has come is closed: a
 * flood of strangers pushes out its own, never a client that has shown a token. If all others are trusted, the new one
 * is the oldest stranger.
 */
export function boundConnections(server: Server, most: number, log: Logger): void {
  /** In the order of their coming; those that have become trusted meanwhile are sorted out when one has to go. */
  const strangers = new Set<Socket>();
  let open = 0;
  let warned = Number.NEGATIVE_INFINITY;

  server.on('connection', (socket: Socket) => {
    open++;
    strangers.add(socket);
    socket.once('close', () => {
      open--;
      strangers.delete(socket);
    });
    if (open > most) closeOldestStranger();
  });

  function closeOldestStranger(): void {
    for (const socket of strangers) {
      strangers.delete(socket);
      if (trusted.has(socket)) continue;
      socket.destroy();
      break;
    }
    const now = performance.now();
    if (now - warned < WARNING_INTERVAL) return;
    warned = now;
    log.warn({ connections: most }, 'too many connections: the oldest without a good token are closed');
  }
}

/**
 * Makes the check whether one read has brought more than so many requests. Their connection is closed then: 64 KiB of
 * them, as much as a read brings, would hold the event loop for a fifth of a second.
 */
export function pipelineLimit(most: number): (socket: Socket) => boolean {
  let last: Socket | undefined;
  let bytesRead = 0;
  let count = 0;
  return (socket) => {
    if (socket.destroyed) return true;
    // Node parses all that a read has brought before it reads on.
    if (socket !== last || socket.bytesRead !== bytesRead) {
      last = socket;
      bytesRead = socket.bytesRead;
      count = 0;
    }
    count++;
    if (count > most) {
      stopParser(socket);
      socket.destroy();
    }
    return count > most;
  };
}

/**
 * Makes Node's parser stop amid what it has read, by an answer that it does not know. Not in Node's documentation: should
 * it be of no effect one day, all that the read has brought is parsed, for a twentieth of a second.
 */
function stopParser(socket: Socket): void {
  const { parser } = socket as unknown as { readonly parser?: { onIncoming(): number } };
  if (parser) parser.onIncoming = () => -1;
}
