import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type Koa from 'koa';
import type { Logger } from 'pino';
import { boundConnections, pipelineLimit } from './connections.ts';
import { errorAnswer, everyAnswer, HttpError } from './errors.ts';
import { failures } from './request-log.ts';

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
   * Stops accepting connections, lets those that are open finish for `timeout` milliseconds, each answer asking the
   * client to close, then closes what is left.
   */
  close(timeout: number): Promise<void>;
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
): Promise<HttpServer> {
  const { answerTimeout, maxConnections, maxPipelined, ...nodeLimits } = { ...serverLimits, ...limits };
  // Joined, a header that may stand once only is refused for its value, where Node would go by the first.
  const server = createServer({ ...nodeLimits, requireHostHeader: false, joinDuplicateHeaders: true });
  // Their size is bounded; by default Node leaves out what comes after the first thousand.
  server.maxHeadersCount = 0;
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
  server.on('clientError', (error, socket) => refuseOnce(error, socket as Socket, log));
  server.on('connect', (_request, socket) => {
    // Node lets go of the socket here; without a listener one that the client resets would end the process.
    socket.on('error', () => {});
    refuse(new Error('CONNECT'), socket as Socket, log);
  });
  server.listen(port, host);
  await once(server, 'listening');

  return {
    url: urlOf(server),
    async close(timeout) {
      app.context.closing = true;
      const closed = once(server, 'close');
      // Unlike http.Server's own close, this leaves idle connections open: a request may be on its way in them.
      NetServer.prototype.close.call(server);
      const deadline = setTimeout(() => server.closeAllConnections(), timeout);
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

/** Node's own: the answer that the app is working on, or that is on its way, if the head of a request was good. */
function pendingAnswer(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse })._httpMessage;
}

/** On a connection where nothing has moved for a while. What the app still works on has deadlines of its own. */
function closeUnlessAnswering(socket: Socket): void {
  const pending = pendingAnswer(socket);
  if (pending === undefined || pending.writableEnded) socket.destroy();
}

/** Connections that cannot be read on: the parser complains again of everything that still comes. */
const refused = new WeakSet<Socket>();

function refuseOnce(error: Error, socket: Socket, log: Logger): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  refuse(error, socket, log);
}

/** Answers what Node's parser refused, which no app ever sees. */
function refuse(error: Error & { code?: string }, socket: Socket, log: Logger): void {
  const thrown = new HttpError(parserErrorCode(error.code));
  const { status, headers, body, error: number } = errorAnswer(thrown);
  const pending = pendingAnswer(socket);
  if (error.code === 'ECONNRESET' || !socket.writable || pending?.headersSent) {
    socket.destroy();
    return;
  }
  if (pending?.req.complete) {
    // What cannot be read came behind a good request, which gets its own answer first.
    pending.once('close', () => refuse(error, socket, log));
    return;
  }
  if (pending) {
    // It has its X-Request-Id and will be logged. What the app still answers goes nowhere.
    failures.set(pending, { error: number, thrown });
    const length = Buffer.byteLength(body);
    pending.writeHead(status, {
      ...headers,
      'Content-Length': length,
      Connection: 'close',
    });
    pending.end(body);
    return;
  }
  const requestId = randomUUID();
  const lines = Object.entries({
    ...everyAnswer,
    ...headers,
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  // Destroyed, since a client that does not close its side would keep it for ever.
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
  log.info({ requestId, status, error: number, parser: error.code }, 'request refused by the parser');
}

function parserErrorCode(code: string | undefined) {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_too_slow';
  return 'malformed_request';
}
