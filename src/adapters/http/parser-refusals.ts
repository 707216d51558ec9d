import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { errorAnswer, everyAnswer, HttpError } from './errors.ts';
import { failures } from './request-log.ts';
import type { RequestObserver } from './request-observer.ts';

/** Node's own: the answer that the app is working on, or that is on its way, if the head of a request was good. */
export function pendingAnswer(socket: Socket): ServerResponse | null | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
}

/** Connections that cannot be read on: the parser complains again of everything that still comes. */
const refused = new WeakSet<Socket>();

/** Answers what Node's parser refused, which no app ever sees, and closes the connection. */
export function refuse(error: Error, socket: Socket, log: Logger, observer?: RequestObserver): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  answerRefused(error, socket, log, observer);
}

function answerRefused(
  error: Error & { code?: string },
  socket: Socket,
  log: Logger,
  observer?: RequestObserver,
): void {
  const thrown = new HttpError(parserErrorCode(error.code));
  const { status, headers, body, error: number } = errorAnswer(thrown);
  const closing = { ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
  const pending = pendingAnswer(socket);
  if (error.code === 'ECONNRESET' || !socket.writable || pending?.headersSent) {
    socket.destroy();
    return;
  }
  if (pending?.req.complete) {
    // What cannot be read came behind a good request, which gets its own answer first.
    pending.once('close', () => answerRefused(error, socket, log, observer));
    return;
  }
  if (pending) {
    // It has its X-Request-Id and will be logged. What the app still answers goes nowhere.
    failures.set(pending, { error: number, thrown });
    // Node has let go of the request by then, and whoever reads its body would wait for ever.
    pending.once('close', () => pending.req.destroy());
    pending.writeHead(status, closing);
    pending.end(body);
    return;
  }
  const requestId = randomUUID();
  const lines = Object.entries({ ...everyAnswer, ...closing, 'X-Request-Id': requestId }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  // Destroyed, since a client that does not close its side would keep it for ever.
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
  log.info({ requestId, status, error: number, parser: error.code }, 'request refused by the parser');
  observer?.answered(status, number, undefined);
}

function parserErrorCode(code: string | undefined) {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_too_slow';
  return 'malformed_request';
}
