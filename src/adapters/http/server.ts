import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type Koa from 'koa';
import type { Logger } from 'pino';
import { boundConnections, pipelineLimit } from './connections.ts';
import { MAX_HEADERS } from './malformed.ts';
import { pendingAnswer, refuse } from './parser-refusals.ts';
import type { RequestObserver } from './request-observer.ts';

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

/**
 * Serves a Koa app, on a free port if `port` is 0.
 *
 * @throws Node's own error if it cannot listen there.
 */
export async function serve(
  app: Koa,
  host: string,
  port: number,
  log: Logger,
  limits: Partial<typeof serverLimits> = {},
  observer?: RequestObserver,
): Promise<HttpServer> {
  const { answerTimeout, maxConnections, maxPipelined, ...nodeLimits } = { ...serverLimits, ...limits };
  // Joined, a header that may stand once only is refused for its value, where Node would go by the first.
  const server = createServer({ ...nodeLimits, requireHostHeader: false, joinDuplicateHeaders: true });
  // Node leaves out those beyond, so one more shows that there are too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  // Not in Node's documentation: a client that has closed its side after its requests gets its answers.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.setTimeout(answerTimeout, closeUnlessAnswering);
  boundConnections(server, maxConnections, log);
  const isTooMany = pipelineLimit(maxPipelined);
  const answer = app.callback();
  // All three go to Koa, so that 100 Continue is sent after the token check and other expectations get an Error body.
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    server.on(event, (request, response) => {
      if (!isTooMany(request.socket)) void answer(request, response);
    });
  }
  server.on('clientError', (error, socket) => refuse(error, socket as Socket, log, observer));
  server.on('connect', (_request, socket) => {
    // Node lets go of the socket here; without a listener one that the client resets would end the process.
    socket.on('error', () => {});
    refuse(new Error('CONNECT'), socket as Socket, log, observer);
  });
  server.listen(port, host);
  await once(server, 'listening');

  return {
    url: urlOf(server),
    async close(timeout, acceptFor = 0) {
      app.context.closing = true;
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

/** On a connection where nothing has moved for a while. What the app still works on has deadlines of its own. */
function closeUnlessAnswering(socket: Socket): void {
  if (pendingAnswer(socket)?.writableEnded !== false) socket.destroy();
}
