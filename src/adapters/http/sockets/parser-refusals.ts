import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Logger } from 'pino';
import { type Connection, pendingExchange } from '../exchange.ts';
import { errorResponse, HttpError } from '../pipeline/errors.ts';
import type { RequestObserver } from '../pipeline/request-observer.ts';
import { commonHeaders } from '../pipeline/response.ts';

/** Responds to a request that Node's parser refused, which never reaches the app, and closes the connection. */
export function refuse(error: Error, connection: Connection, log: Logger, observer?: RequestObserver): void {
  if (connection.isRefused) return;
  connection.isRefused = true;
  respondRefused(error, connection, log, observer);
}

function respondRefused(
  error: Error & { code?: string },
  connection: Connection,
  log: Logger,
  observer?: RequestObserver,
): void {
  const thrown = new HttpError(parserErrorCode(error.code));
  const { status, headers, body, error: number } = errorResponse(thrown);
  const closing = { ...commonHeaders, ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
  const { socket } = connection;
  const pending = pendingExchange(connection);
  if (error.code === 'ECONNRESET' || !socket.writable || pending?.response.headersSent) {
    socket.destroy();
    return;
  }
  if (pending?.request.complete) {
    // The refused bytes followed a valid request, which gets its own response first.
    pending.response.once('close', () => respondRefused(error, connection, log, observer));
    return;
  }
  if (pending) {
    const { request, response } = pending;
    // It will be logged. The app's own response is discarded.
    pending.failure = { error: number, thrown };
    pending.bytesOut = closing['Content-Length'];
    // Node has abandoned the request by then, and a pending read of its body would never end.
    response.once('close', () => request.destroy());
    response.writeHead(status, { ...closing, 'X-Request-Id': pending.requestId }).end(body);
    return;
  }
  const requestId = randomUUID();
  const lines = Object.entries({ ...closing, 'X-Request-Id': requestId }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  // Destroyed, since a client that does not close its side would keep it open indefinitely.
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
  log.info({ requestId, status, error: number, parser: error.code }, 'request refused by the parser');
  observer?.requestEnded(undefined, status, number, undefined);
}

function parserErrorCode(code: string | undefined) {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_too_slow';
  return 'malformed_request';
}
