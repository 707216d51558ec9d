import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { JSON_TYPE } from '../contract/responses.ts';
import { errorResponse, HttpError } from '../http-errors.ts';
import { commonHeaders } from '../request/every-request.ts';
import type { RequestObserver } from '../request/log-line.ts';

/** An error of Node's HTTP parser, or of the time that a request may take, or a CONNECT. */
export interface ParserError {
  readonly code?: string | undefined;
}

/** The error that a client gets. */
export function refusalOf({ code }: ParserError): HttpError {
  if (code === 'HPE_HEADER_OVERFLOW') return new HttpError('headers_too_large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new HttpError('request_too_slow');
  if (code !== 'CONNECT') return new HttpError('malformed_request');
  return new HttpError('malformed_request', 'this is no proxy: take its address out of HTTPS_PROXY and HTTP_PROXY');
}

/** Responds to what never became a request that the app could respond to, and closes the connection. */
export function refuse(refused: ParserError, socket: Socket, log: Logger, observer?: RequestObserver): void {
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
