import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type Koa from 'koa';
import type { Logger } from 'pino';
import { beginExchange, type Connection, pendingExchange } from '../exchange.ts';
import { MAX_HEADERS } from '../pipeline/request-checks.ts';
import type { RequestObserver } from '../pipeline/request-observer.ts';
import { backPressure } from './back-pressure.ts';
import { connectionLimit, pipelineLimit } from './connection-limits.ts';
import { refuse } from './parser-refusals.ts';

/** What clients may take, in bytes and milliseconds. */
export const serverLimits = {
  maxHeaderSize: 16 * 1024,
  /** From the opening of the connection, or the end of the answer before, to the end of the headers. */
  headersTimeout: 10_000,
  /** The same to the end of the body. */
  requestTimeout: 30_000,
  /** How often the two are looked at: often, so that a flood of slow clients is answered in small portions. */
  connectionsCheckingInterval: 100,
  /** How long a client may leave an answer unread. */
  answerTimeout: 30_000,
  /** Longer than the 60 s of common proxies, which would otherwise send into a connection just closed. */
  keepAliveTimeout: 75_000,
  maxConnections: 10_000,
  /** Requests that a client may send in one piece, without waiting for an answer. */
  maxPipelined: 16,
};

export interface HttpServer {
  /** Where it listens, as http://host:port. */
  readonly url: string;
  /**
   * Stops accepting connections after `acceptFor` milliseconds and closes what is still open after `timeout`. Every
   * answer meanwhile asks the client to close.
   */
  close(timeout: number, acceptFor?: number): Promise<void>;
}

/** A Koa app, and what the sockets need to know of it. */
export interface ServedApp {
  readonly koa: Koa;
  /** How many requests more may be under way. */
  readonly room: () => number;
  readonly observer?: RequestObserver | undefined;
}

/**
 * Serves an app, on a free port if `port` is 0.
 *
 * @throws Node's own error if it cannot listen there.
 */
export async function serve(
  { koa, room, observer }: ServedApp,
  host: string,
  port: number,
  log: Logger,
  limits: Partial<typeof serverLimits> = {},
): Promise<HttpServer> {
  const { answerTimeout, maxConnections, maxPipelined, ...nodeLimits } = { ...serverLimits, ...limits };
  // Joined, a header that may stand once only is refused for its value, where Node would go by the first.
  const server = createServer({ ...nodeLimits, requireHostHeader: false, joinDuplicateHeaders: true });
  // Node leaves out those beyond, so one more shows that there are too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  // Not in Node's documentation: a client that has closed its side after its requests gets its responses.
  Object.assign(server, { httpAllowHalfOpen: true });

  const connections = new Map<Socket, Connection>();
  const opened = connectionLimit(maxConnections, log);
  const isTooMany = pipelineLimit(maxPipelined);
  const pause = backPressure(room);
  const answer = koa.callback();
  let isClosing = false;

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(request.socket);
    if (connection === undefined || isTooMany(connection)) return;
    const exchange = beginExchange(connection, request, response);
    if (isClosing) response.setHeader('Connection', 'close');
    response.once('close', () => pause(exchange));
    void answer(request, response);
  }

  function refuseOn(socket: Socket, error: Error): void {
    const connection = connections.get(socket);
    if (connection === undefined) socket.destroy();
    else refuse(error, connection, log, observer);
  }

  server.on('connection', (socket: Socket) => {
    const connection = { socket, isTrusted: false, isRefused: false, exchanges: [] };
    connections.set(socket, connection);
    socket.once('close', () => connections.delete(socket));
    opened(connection);
  });
  // All three go to Koa, so that 100 Continue is sent after the token check and other expectations get an Error body.
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, begin);
  server.on('clientError', (error, socket) => refuseOn(socket as Socket, error));
  server.on('connect', (_request, socket) => {
    // Node lets go of the socket here; without a listener one that the client resets would end the process.
    socket.on('error', () => {});
    refuseOn(socket as Socket, new Error('CONNECT'));
  });
  // Nothing has moved for a while. What the app still works on has deadlines of its own.
  server.setTimeout(answerTimeout, (socket) => {
    const connection = connections.get(socket);
    if ((connection && pendingExchange(connection))?.response.writableEnded !== false) socket.destroy();
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
      // Unlike http.Server's own close, this leaves idle connections open: a request may be on its way in them.
      NetServer.prototype.close.call(server);
      await closed;
      clearTimeout(deadline);
    },
  };
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  // Every address of the machine is no address to send to.
  const host = address === '0.0.0.0' || address === '::' ? 'localhost' : address;
  return `http://${family === 'IPv6' && host === address ? `[${address}]` : host}:${port}`;
}
