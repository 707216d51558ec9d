import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type Koa from 'koa';
import type { Logger } from 'pino';
import { beginExchange, type Connection, type Exchange, pendingExchange } from '../exchange.ts';
import { MAX_HEADERS } from '../pipeline/request-checks.ts';
import type { RequestObserver } from '../pipeline/request-observer.ts';
import { backPressure } from './back-pressure.ts';
import { connectionLimit, pipelineLimit } from './connection-limits.ts';
import { refuse } from './parser-refusals.ts';

/** Limits on clients, in bytes and milliseconds. */
export const serverLimits = {
  maxHeaderSize: 16 * 1024,
  /** From the opening of the connection, or the end of the previous response, to the end of the headers. */
  headersTimeout: 10_000,
  /** From the same moment to the end of the body. */
  requestTimeout: 30_000,
  /** How often these two are checked: often, so that a flood of slow clients is refused in small portions. */
  connectionsCheckingInterval: 100,
  /**
   * How long a client may leave a response unread, at least. Up to twice as long: when the time is up, Node's sockets
   * grant as much again if data was sent since it began (net.js, _onTimeout).
   */
  responseTimeout: 30_000,
  /** Longer than the 60 s of common proxies, which would otherwise send a request on a connection just closed. */
  keepAliveTimeout: 75_000,
  maxConnections: 10_000,
  /** Requests that a client may send at once, without waiting for a response. */
  maxPipelined: 16,
};

export interface HttpServer {
  /** Where it listens, as http://host:port. */
  readonly url: string;
  /**
   * Stops accepting connections after `acceptFor` milliseconds and closes those still open after `timeout`. Responses
   * sent meanwhile carry `Connection: close`. Resolves once every response has closed.
   */
  close(timeout: number, acceptFor?: number): Promise<void>;
}

/** A Koa app and what the socket layer needs to know about it. */
export interface ServedApp {
  readonly koa: Koa;
  /** Called with each exchange that has ended. */
  readonly logExchange: (exchange: Exchange) => void;
  /** How many more requests can be admitted. */
  readonly freeSlots: () => number;
  readonly observer?: RequestObserver | undefined;
}

/**
 * Serves an app, on a free port if `port` is 0.
 *
 * @throws Node's own error if it cannot listen there.
 */
export async function serve(
  { koa, logExchange, freeSlots, observer }: ServedApp,
  host: string,
  port: number,
  log: Logger,
  limits: Partial<typeof serverLimits> = {},
): Promise<HttpServer> {
  const { responseTimeout, maxConnections, maxPipelined, ...nodeLimits } = { ...serverLimits, ...limits };
  // Joined, duplicates of a singleton header fail the checks of its value; otherwise Node would use the first one.
  const server = createServer({ ...nodeLimits, requireHostHeader: false, joinDuplicateHeaders: true });
  // Node drops headers beyond this count, so one more than allowed shows that there are too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  // Undocumented in Node: a client that has closed its side after its requests still gets its responses.
  Object.assign(server, { httpAllowHalfOpen: true });

  const connections = new Map<Socket, Connection>();
  const limitConnections = connectionLimit(maxConnections, log);
  const exceedsPipeline = pipelineLimit(maxPipelined);
  const pause = backPressure(freeSlots);
  const respond = koa.callback();
  let isClosing = false;

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(request.socket);
    if (connection === undefined || exceedsPipeline(connection)) return;
    beginExchange(connection, request, response, end);
    if (isClosing) response.setHeader('Connection', 'close');
    void respond(request, response);
  }

  function end(exchange: Exchange): void {
    logExchange(exchange);
    pause(exchange);
  }

  function refuseOn(socket: Socket, error: Error): void {
    const connection = connections.get(socket);
    if (connection === undefined) socket.destroy();
    else refuse(error, connection, log, observer);
  }

  server.on('connection', (socket: Socket) => {
    const connection = { socket, isAuthenticated: false, isRefused: false, exchanges: [] };
    connections.set(socket, connection);
    socket.once('close', () => connections.delete(socket));
    limitConnections(connection);
  });
  // All three go to Koa, so that 100 Continue is sent after the token check and other expectations get an Error body.
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, begin);
  server.on('clientError', (error, socket) => refuseOn(socket as Socket, error));
  server.on('connect', (_request, socket) => {
    // Node removes its own listeners here, and a reset by the client would end the process without one.
    socket.on('error', () => {});
    refuseOn(socket as Socket, new Error('CONNECT'));
  });
  // The socket has been idle for responseTimeout or longer. Requests that the app still works on have deadlines of their
  // own, but a list waits for its client.
  server.setTimeout(responseTimeout, (socket) => {
    const connection = connections.get(socket);
    const response = (connection && pendingExchange(connection))?.response;
    if (response?.writableEnded !== false || response.writableNeedDrain) socket.destroy();
  });
  server.listen(port, host);
  await once(server, 'listening');

  return {
    url: urlOf(server),
    async close(timeout, acceptFor = 0) {
      isClosing = true;
      for (const { response } of [...connections.values()].flatMap(({ exchanges }) => exchanges)) {
        if (!response.headersSent) response.setHeader('Connection', 'close');
      }
      const deadline = setTimeout(() => server.closeAllConnections(), timeout);
      if (acceptFor > 0) await delay(acceptFor);
      const closed = once(server, 'close');
      // Unlike http.Server's own close, this leaves idle connections open: a request may be on its way.
      NetServer.prototype.close.call(server);
      await closed;
      clearTimeout(deadline);
      // The server counts a connection as closed once it is destroyed; its responses, and so their log lines, follow.
      await Promise.all([...connections.keys()].map((socket) => new Promise((end) => socket.once('close', end))));
    },
  };
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  // A wildcard address is not one to send requests to.
  const host = address === '0.0.0.0' || address === '::' ? 'localhost' : address;
  return `http://${family === 'IPv6' && host === address ? `[${address}]` : host}:${port}`;
}
