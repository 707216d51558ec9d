import { randomUUID } from 'node:crypto';
import { ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { errorResponse, HttpError } from './http-errors.ts';
import { commonHeaders } from './request/every-request.ts';
import type { RequestObserver } from './request/log-line.ts';

/* Refusals of what never reaches the app. */

/** Nothing that follows on the connection is read. */
const CLOSE = { Connection: 'close' };

/** @param code Node's, of its parser or of the time that a request may take */
export function unreadable(code: string | undefined): HttpError {
  if (code === 'HPE_HEADER_OVERFLOW') return new HttpError('headers_too_large', undefined, CLOSE);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new HttpError('request_too_slow', undefined, CLOSE);
  return new HttpError('malformed_request', undefined, CLOSE);
}

export function onePerConnection(): HttpError {
  const message = 'a connection takes one request at a time; sending the same request again is safe';
  return new HttpError('too_many_alike', message, CLOSE);
}

/**
 * Sends an error, after which the connection closes.
 *
 * @param reason for the log
 * @param to the response to the request, or the connection if there is none
 */
export type Refuse = (error: HttpError, reason: string | undefined, to: ServerResponse | Socket) => void;

export function serverRefusals(log: Logger, observer?: RequestObserver): Refuse {
  return (refused, reason, to) => {
    const requestId = randomUUID();
    const { status, error, headers: own, body } = errorResponse(refused);
    const known = { 'X-Request-Id': requestId, 'Content-Length': `${Buffer.byteLength(body)}` };
    const headers = { ...known, ...commonHeaders, ...own };
    log.info({ requestId, status, error, reason }, 'request refused by the server');
    observer?.requestEnded(undefined, status, error, undefined);
    if (to instanceof ServerResponse) {
      to.writeHead(status, headers).end(body);
      return;
    }
    const lines = Object.entries({ Date: new Date().toUTCString(), ...headers }).map((header) => header.join(': '));
    const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines].join('\r\n');
    // Destroyed, since a client that does not close its side would keep it open.
    to.end(`${head}\r\n\r\n${body}`, () => to.destroy());
  };
}
