import { randomUUID } from 'node:crypto';
import { ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { errorResponse, type HttpError } from './errors.ts';
import { commonHeaders } from './middleware/every-request.ts';
import type { RequestObserver } from './middleware/log-line.ts';

/**
 * Sends an error in place of the app, after which the connection closes.
 *
 * @param reason for the log
 * @param to the response to the request, or the connection if there is none
 */
export type Refuse = (error: HttpError, reason: string | undefined, to: ServerResponse | Socket) => void;

export function refuser(log: Logger, observer?: RequestObserver): Refuse {
  return (refused, reason, to) => {
    const requestId = randomUUID();
    const { status, error, headers: own, body } = errorResponse(refused);
    const known = { 'X-Request-Id': requestId, 'Content-Length': `${Buffer.byteLength(body)}` };
    const headers = { ...known, ...commonHeaders, ...own, Connection: 'close' };
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
