import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type Koa from 'koa';
import type { Logger } from 'pino';
import { errorAnswer, everyAnswer, HttpError } from './errors.ts';
import { failures } from './request-log.ts';

/** What one client may take, in bytes and milliseconds. */
export const serverLimits = {
  maxHeaderSize: 16 * 1024,
  /** From the first byte, or the end of the answer before, to the end of the headers. */
  headersTimeout: 10_000,
  /** The same to the end of the body. */
  requestTimeout: 30_000,
  /** How often the two are looked at. */
  connectionsCheckingInterval: 1_000,
  /** Longer than the 60 s of common proxies, which would otherwise send into a connection just closed. */
  keepAliveTimeout: 75_000,
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
): Promise<HttpServer> {
  const server = createServer({ ...serverLimits, ...limits, requireHostHeader: false });
  const answer = app.callback();
  // All three go to Koa, so that 100 Continue is sent after the token check and other expectations get an Error body.
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    server.on(event, (request, response) => void answer(request, response));
  }
  server.on('clientError', (error, socket) => refuse(error, socket as Socket, log));
  server.on('connect', (_request, socket) => {
    // Node lets go of the socket here; without a listener one that the client resets would end the process.
    socket.on('error', () => {});
    refuse(new Error('CONNECT'), socket as Socket, log);
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

/** Answers what Node's parser refused, which no app ever sees. */
function refuse(error: Error & { code?: string }, socket: Socket, log: Logger): void {
  const thrown = new HttpError(parserErrorCode(error.code));
  const { status, headers, body, error: number } = errorAnswer(thrown);
  // Node's own: the answer that the app is working on, if the head of a request was good.
  const { _httpMessage: pending } = socket as { _httpMessage?: ServerResponse };
  if (error.code === 'ECONNRESET' || !socket.writable || pending?.headersSent) {
    socket.destroy();
    return;
  }
  if (pending?.req.complete) {
    // What cannot be read came behind a good request, which gets its own answer; then the connection closes.
    pending.shouldKeepAlive = false;
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
