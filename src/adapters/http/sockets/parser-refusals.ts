import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { JSON_TYPE } from '../contract/responses.ts';
import { errorResponse, HttpError } from '../http-errors.ts';
import { commonHeaders } from '../request/every-request.ts';
import type { RequestObserver } from '../request/log-line.ts';

/** An error of Node's HTTP parser, or of the time that a request may take. */
export type ParserError = Error & { readonly code?: string };

/** The error that a client gets. */
export function refusalOf({ code }: Pick<ParserError, 'code'>): HttpError {
  if (code === 'HPE_HEADER_OVERFLOW') return new HttpError('headers_too_large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new HttpError('request_too_slow');
  return new HttpError('malformed_request');
}

/** Responds to what never became a request that the app could respond to, and closes the connection. */
export function refuse(
  refused: Pick<ParserError, 'code'>,
  socket: Socket,
  log: Logger,
  observer?: RequestObserver,
): void {
  const requestId = randomUUID();
  const { status, headers, body, error } = errorResponse(refusalOf(refused));
  const own = { 'X-Request-Id': requestId, Date: new Date().toUTCString(), Connection: 'close' };
  const content = { 'Content-Type': JSON_TYPE, 'Content-Length': Buffer.byteLength(body) };
  const all = Object.entries({ ...own, ...commonHeaders, ...headers, ...content });
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`);
  // Destroyed, since a client that does not close its side would keep it open indefinitely.
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
  log.info({ requestId, status, error, parser: refused.code }, 'request refused by the parser');
  observer?.requestEnded(undefined, status, error, undefined);
}
