import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Connection, type Exchange, openExchange } from '../exchange.ts';
import { MAX_HEADERS } from '../request/koa-app.ts';
import type { RequestObserver } from '../request/request-log.ts';
import { connectionLimit } from './connection-limits.ts';
import { refuse } from './parser-refusals.ts';
import { requestOrder } from './request-order.ts';
import { respondToHalfClosed, stopListening } from './undocumented-node.ts';

/** Limits on clients, in bytes and milliseconds. */
export const serverLimits = {
  maxHeaderSize: 16 * 1024,
  /** From the first byte of a request to the end of its headers, and from the opening of a connection to that byte. */
  headersTimeout: 10_000,
  /** From the first byte of a request to the end of its body, whether or not it waits behind others meanwhile. */
  requestTimeout: 30_000,
  /** How often these two limits are checked: often, so that a flood of slow clients is refused in small portions. */
  connectionsCheckingInterval: 100,
  /**
   * How long a response may wait until the system takes more of it, at least. Up to twice as long: when the time is up,
   * Node's sockets grant as much again if data was sent since it began (net.js, _onTimeout). The system takes more only
   * once the client has read a good part of the socket's buffers: a very slow reader is cut off, a faster one never is.
   */
  responseTimeout: 30_000,
  /** Longer than the 60 s of common proxies, which would otherwise send a request on a connection just closed. */
  keepAliveTimeout: 75_000,
  maxConnections: 10_000,
};

export interface HttpServer {
  /** Where it listens, as http://host:port. */
  readonly url: string;
  /**
   * Stops accepting connections after `acceptFor` milliseconds and closes the open ones after `timeout`. Responses
   * sent meanwhile carry `Connection: close`. Resolves once every response has closed.
   */
  close(timeout: number, acceptFor?: number): Promise<void>;
}

/** The function that responds to requests, and the observers of its work. */
export interface ServedApp {
  /** Responds, whatever happens. */
  readonly handle: (exchange: Exchange) => Promise<void>;
  /** Called with each exchange that has ended. */
  readonly logExchange: (exchange: Exchange) => void;
  readonly observer?: RequestObserver | undefined;
}

/**
 * Serves an app, on a free port if `port` is 0.
 *
 * @param reusePort whether other processes listen there, too, among which the kernel distributes the connections
 * @throws Node's own error if it cannot listen there.
 */
export async function serve(
  { handle, logExchange, observer }: ServedApp,
  host: string,
  port: number,
  log: Logger,
  limits: Partial<typeof serverLimits> = {},
  reusePort = false,
): Promise<HttpServer> {
  const { responseTimeout, maxConnections, ...nodeLimits } = { ...serverLimits, ...limits };
  // Joined, duplicates of a singleton header fail the checks of its value; otherwise Node would use the first value.
  const server = createServer({ ...nodeLimits, requireHostHeader: false, joinDuplicateHeaders: true });
  // Node drops headers beyond this count: one more than is allowed shows that there are too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  respondToHalfClosed(server);

  const limitConnections = connectionLimit(maxConnections, log);
  const order = requestOrder(begin, (...refused) => refuse(...refused, log, observer));
  let isClosing = false;

  function begin(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    const exchange = openExchange(connection, request, response, log, end);
    if (isClosing) response.setHeader('Connection', 'close');
    void handle(exchange);
  }

  function end(exchange: Exchange): void {
    logExchange(exchange);
    order.end(exchange);
  }

  server.on('connection', (socket: Socket) => limitConnections(order.open(socket)));
  // All three go to Koa, so that 100 Continue is sent after the token check and other expectations get an Error body.
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, order.arrive);
  server.on('clientError', (error, socket) => order.fail(error, socket as Socket));
  server.on('connect', (_request, socket) => {
    // Node removes its own listeners here, and a reset by the client would end the process without one.
    socket.on('error', () => {});
    const connection = order.connections.get(socket as Socket);
    // Without those listeners, the response to an earlier request would neither be sent to its end nor time out.
    if (connection?.exchange !== undefined || connection?.waiting.length) socket.destroy();
    else order.fail(new Error('CONNECT'), socket as Socket);
  });
  // Requests that the app still works on have deadlines of their own, but a list waits for its client.
  server.setTimeout(responseTimeout, (socket) => {
    const response = order.connections.get(socket)?.exchange?.response;
    if (response?.writableEnded !== false || response.writableNeedDrain) socket.destroy();
  });
  server.listen({ port, host, reusePort });
  await once(server, 'listening');

  return {
    url: urlOf(server),
    async close(timeout, acceptFor = 0) {
      isClosing = true;
      for (const { exchange } of order.connections.values()) {
        if (exchange?.response.headersSent === false) exchange.response.setHeader('Connection', 'close');
      }
      const deadline = setTimeout(() => server.closeAllConnections(), timeout);
      if (acceptFor > 0) await delay(acceptFor);
      const closed = once(server, 'close');
      stopListening(server);
      await closed;
      clearTimeout(deadline);
      // The server counts a connection as closed once it is destroyed; its responses, and so their log lines, follow.
      await Promise.all([...order.connections.keys()].map((socket) => new Promise((end) => socket.once('close', end))));
    },
  };
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  // Requests cannot be sent to a wildcard address.
  const host = address === '0.0.0.0' || address === '::' ? 'localhost' : address;
  return `http://${family === 'IPv6' && host === address ? `[${address}]` : host}:${port}`;
}
