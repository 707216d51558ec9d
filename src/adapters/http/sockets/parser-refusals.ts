import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Logger } from 'pino';
import { type Connection, fail } from '../exchange.ts';
import { errorResponse, HttpError } from '../http-errors.ts';
import type { RequestObserver } from '../request/request-log.ts';
import { commonHeaders } from '../request/response.ts';

/**
 * Responds to a request that Node's parser refused, which never reaches the app, and closes the connection. There is no
 * second response if the request got its response before it had come whole.
 */
export function refuse(
  error: Error & { code?: string },
  { socket, exchange, unread }: Connection,
  log: Logger,
  observer?: RequestObserver,
): void {
  const hasResponse = exchange?.response.headersSent || unread?.complete === false;
  if (error.code === 'ECONNRESET' || !socket.writable || hasResponse) {
    socket.destroy();
    return;
  }
  const thrown = new HttpError(parserErrorCode(error.code));
  const { status, headers, body, error: number } = errorResponse(thrown);
  const closing = { ...commonHeaders, ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
  if (exchange) {
    const { request, response, requestId } = exchange;
    // For the log. The app's own response is discarded.
    fail(exchange, thrown);
    exchange.bytesOut = closing['Content-Length'];
    // Node has abandoned the request by then, and a pending read of its body would never end.
    response.once('close', () => request.destroy());
    response.writeHead(status, { ...closing, 'X-Request-Id': requestId }).end(body);
    return;
  }
  const requestId = randomUUID();
  const all = { ...closing, Date: new Date().toUTCString(), 'X-Request-Id': requestId };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
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
