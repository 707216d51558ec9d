import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type Koa from 'koa';
import type { Logger } from 'pino';
import { MAX_HEADERS } from './request/every-request.ts';
import type { RequestObserver } from './request/log-line.ts';
import { connectionLimit } from './sockets/connection-limits.ts';
import { connections } from './sockets/connections.ts';
import { respondToHalfClosed, stopListening } from './sockets/undocumented-node.ts';

/** Limits on clients, in bytes and milliseconds. */
export const serverLimits = {
  maxHeaderSize: 32 * 1024,
  /** Bytes of a body that Node buffers before the app reads it, beyond one read of the socket: each chunk takes 3 µs. */
  highWaterMark: 8 * 1024,
  /** From the first byte of a request to the end of its headers, and from the opening of a connection to that byte. */
  headersTimeout: 10_000,
  /** From the first byte of a request to the end of its body. */
  requestTimeout: 30_000,
  /** How often these two limits are checked: often, so that a flood of slow clients is refused in small portions. */
  connectionsCheckingInterval: 100,
  /**
   * How long a response may wait until the system takes more of it, and once more as long if data was sent meanwhile
   * (Node's net.js, _onTimeout). The system takes more once the client has read a good part of the socket's buffers.
   */
  responseTimeout: 30_000,
  /** Longer than the 60 s of common proxies: one that keeps it longer may send a request on a connection just closed. */
  keepAliveTimeout: 75_000,
  maxConnections: 10_000,
};

export interface HttpServer {
  /** Where it listens, as http://host:port. */
  readonly url: string;
  /**
   * Stops accepting connections after `acceptFor` milliseconds and closes the open ones after `timeout`. Responses
   * sent meanwhile carry `Connection: close`. Without `acceptFor`, no request is expected: it stops at once, and ends
   * each connection at once, or after the response in progress. Resolves once all have closed.
   */
  close(timeout: number, acceptFor?: number): Promise<void>;
}

/** A Koa app, and the observer of what never reaches it. */
export interface ServedApp {
  readonly app: Pick<Koa, 'callback'>;
  readonly observer?: RequestObserver | undefined;
}

/**
 * Serves an app, on a free port if `port` is 0.
 *
 * @param reusePort whether other processes listen there, too, among which the kernel distributes the connections
 * @throws Node's own error if it cannot listen there.
 */
export async function serve(
  { app, observer }: ServedApp,
  host: string,
  port: number,
  log: Logger,
  limits: Partial<typeof serverLimits> = {},
  reusePort = false,
): Promise<HttpServer> {
  const { responseTimeout, maxConnections, ...nodeLimits } = { ...serverLimits, ...limits };
  const open = connections(app.callback(), log, observer);
  const options = {
    ...nodeLimits,
    requireHostHeader: false,
    // Joined, duplicates of a singleton header fail the checks of its value; otherwise Node would use the first value.
    joinDuplicateHeaders: true,
    // Requests without a body have no events of a stream, which took half the time of a flood of pipelined ones.
    optimizeEmptyRequests: true,
  };
  const server = createServer(options, open.handle);
  // These go to the app, too, so that 100 Continue is sent after the token check, and others get an Error body.
  server.on('checkContinue', open.handle);
  server.on('checkExpectation', open.handle);
  server.on('connect', (_request, stream) => {
    const socket = stream as Socket;
    // Node has taken its listeners away: a reset would end the process, and nobody would close the connection.
    socket.on('error', () => {});
    const deadline = setTimeout(() => socket.destroy(), responseTimeout);
    socket.once('close', () => clearTimeout(deadline));
    socket.on('timeout', () => open.timeOut(socket));
    open.fail({ code: 'CONNECT' }, socket);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => open.fail(error, socket as Socket));
  // Node drops headers beyond this count: one more than is allowed shows that there are too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  respondToHalfClosed(server);
  server.on('connection', open.add);
  server.on('connection', connectionLimit(maxConnections, log));
  server.setTimeout(responseTimeout, open.timeOut);
  server.listen({ port, host, reusePort });
  await once(server, 'listening');

  return {
    url: urlOf(server),
    async close(timeout, acceptFor) {
      open.endAfterResponses();
      const deadline = setTimeout(open.destroy, timeout);
      if (acceptFor === undefined) open.endOthers();
      else if (acceptFor > 0) await delay(acceptFor);
      stopListening(server);
      // Not just the server, which counts a connection as closed before its responses are, and so their log lines.
      await open.allClosed();
      clearTimeout(deadline);
    },
  };
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  // Requests cannot be sent to a wildcard address.
  const host = address === '0.0.0.0' || address === '::' ? 'localhost' : address;
  return `http://${family === 'IPv6' && host === address ? `[${address}]` : host}:${port}`;
}
