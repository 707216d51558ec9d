import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Logger } from 'pino';
import { type Connection, pendingExchange } from '../exchange.ts';
import { errorAnswer, everyAnswer, HttpError } from '../pipeline/errors.ts';
import type { RequestObserver } from '../pipeline/request-observer.ts';

/** Answers what Node's parser refused, which no app ever sees, and closes the connection. */
export function refuse(error: Error, connection: Connection, log: Logger, observer?: RequestObserver): void {
  if (connection.isRefused) return;
  connection.isRefused = true;
  answerRefused(error, connection, log, observer);
}

function answerRefused(
  error: Error & { code?: string },
  connection: Connection,
  log: Logger,
  observer?: RequestObserver,
): void {
  const thrown = new HttpError(parserErrorCode(error.code));
  const { status, headers, body, error: number } = errorAnswer(thrown);
  const closing = { ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
  const { socket } = connection;
  const pending = pendingExchange(connection);
  if (error.code === 'ECONNRESET' || !socket.writable || pending?.response.headersSent) {
    socket.destroy();
    return;
  }
  if (pending?.request.complete) {
    // What cannot be read came behind a good request, which gets its own response first.
    pending.response.once('close', () => answerRefused(error, connection, log, observer));
    return;
  }
  if (pending) {
    const { request, response } = pending;
    // It has its X-Request-Id and will be logged. What the app still answers goes nowhere.
    pending.failure = { error: number, thrown };
    // Node has let go of the request by then, and whoever reads its body would wait for ever.
    response.once('close', () => request.destroy());
    response.writeHead(status, closing);
    response.end(body);
    return;
  }
  const requestId = randomUUID();
  const lines = Object.entries({ ...everyAnswer, ...closing, 'X-Request-Id': requestId }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  // Destroyed, since a client that does not close its side would keep it for ever.
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
  log.info({ requestId, status, error: number, parser: error.code }, 'request refused by the parser');
  observer?.answered(undefined, status, number, undefined);
}

function parserErrorCode(code: string | undefined) {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_too_slow';
  return 'malformed_request';
}
