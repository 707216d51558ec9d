import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type RequestListener, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { errorResponse, HttpError } from './errors.ts';
import { commonHeaders } from './middleware/every-request.ts';
import type { RequestObserver } from './middleware/log-line.ts';

/** The most requests behind one in progress. More are a flood, and their connection is closed at once. */
const REQUESTS_BEHIND_MAX = 100;

const ONE_AT_A_TIME = 'a connection takes one request at a time; sending the same request again is safe';

interface Connection {
  /** The newest response that the app has. */
  response: ServerResponse | undefined;
  /** How many requests have arrived behind one in progress. After the first, no request of the connection is executed. */
  behind: number;
}

/**
 * Allows a connection one request at a time: Node would process a second one concurrently, and of two changes either could
 * take effect last.
 */
export function connections(handle: RequestListener, log: Logger, observer?: RequestObserver) {
  const open = new Map<Socket, Connection>();
  let isStopping = false;

  /** Sends an error in place of the app, in the response or on a connection without a response, and closes the connection. */
  function refuse(reason: string | undefined, thrown: HttpError, to: ServerResponse | Socket): void {
    const requestId = randomUUID();
    const { status, error, headers: errorHeaders, body } = errorResponse(thrown);
    const headers = {
      'X-Request-Id': requestId,
      'Content-Length': `${Buffer.byteLength(body)}`,
      ...commonHeaders,
      ...errorHeaders,
      Connection: 'close',
    };
    log.info({ requestId, status, error, reason }, 'request refused by the server');
    observer?.requestEnded(undefined, status, error);
    if (to instanceof ServerResponse) {
      to.writeHead(status, headers).end(body);
      return;
    }
    const lines = Object.entries({ Date: new Date().toUTCString(), ...headers }).map((header) => header.join(': '));
    const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines].join('\r\n');
    // Destroyed, since a client that does not close its side would keep it open.
    to.end(`${head}\r\n\r\n${body}`, () => to.destroy());
  }

  return {
    /** A connection has opened. */
    add(socket: Socket): void {
      open.set(socket, { response: undefined, behind: 0 });
      socket.once('close', () => open.delete(socket));
    },

    /** The headers of a request have arrived. */
    handle(request: IncomingMessage, response: ServerResponse): void {
      const connection = open.get(request.socket);
      if (connection === undefined) return;
      if (connection.behind > 0 || isInProgress(connection.response)) {
        connection.behind++;
        // Node sends this response after the one in progress, and then closes the connection.
        if (connection.behind === 1) refuse('pipelined', new HttpError('concurrency_limit', ONE_AT_A_TIME), response);
        else if (connection.behind > REQUESTS_BEHIND_MAX) request.socket.destroy();
        return;
      }
      connection.response = response;
      // After a request that offers an upgrade, Node's parser discards what it has read beyond it.
      if (isStopping || request.headers.upgrade !== undefined) response.setHeader('Connection', 'close');
      handle(request, response);
    },

    /** The parser could not read the request, or its time is over. */
    fail({ code }: NodeJS.ErrnoException, socket: Socket): void {
      const response = open.get(socket)?.response;
      const error = parserError(code);
      if (!socket.writable) socket.destroy();
      else if (response === undefined || (response.writableFinished && response.req.complete))
        refuse(code, error, socket);
      else if (!response.req.complete && !response.headersSent) {
        // Only the app knows whether its response depends on the body, so it gets the error (every-request.ts). Node's
        // `request.destroy(error)` would close the connection without a response.
        response.setHeader('Connection', 'close');
        response.req.emit('error', error);
      }
      // The client would take this error for the response to the request in progress, or for a second one to it.
      else socket.destroy();
    },

    /** Nothing has been sent or received for a while. */
    timeOut(socket: Socket): void {
      const response = open.get(socket)?.response;
      // The app has deadlines of its own, but a response that is being sent depends on its client.
      if (!isInProgress(response) || response.writableEnded || socket.writableLength > 0) socket.destroy();
    },

    /** From now on, each response closes its connection, unless its headers have been sent. */
    endAfterResponses(): void {
      isStopping = true;
      for (const { response } of open.values()) {
        if (response?.headersSent === false) response.setHeader('Connection', 'close');
      }
    },

    /** Resolves when no ended response is still being sent: Node's `close` would cut it off. */
    async drain(): Promise<void> {
      const unsentResponses = [...open].filter(([, { response }]) => isInProgress(response) && response.writableEnded);
      if (unsentResponses.length === 0) return;
      await Promise.all(unsentResponses.map(([socket, { response }]) => finished(socket, response)));
      await this.drain();
    },

    /**
     * Closes each connection once it is idle, also those that never had a request (Node's own `close` does not). Resolves
     * once all have closed. Their responses have closed then, too, and are logged.
     */
    async closeOnceIdle(): Promise<void> {
      const closings = [...open].map(([socket, { response }]) => {
        if (isInProgress(response)) response.once('finish', () => socket.destroy());
        else socket.destroy();
        return finished(socket);
      });
      await Promise.all(closings);
    },
  };
}

/** @param code Node's, for an error of its parser or for a request that timed out */
function parserError(code: string | undefined): HttpError {
  if (code === 'HPE_HEADER_OVERFLOW') return new HttpError('headers_too_large');
  return new HttpError(code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_too_slow' : 'malformed_request');
}

/** A response is in progress until the operating system has its last byte: then the client may send its next request. */
function isInProgress(response: ServerResponse | undefined): response is ServerResponse {
  return response !== undefined && !response.writableFinished;
}

/** Resolves once the response has been sent, or the connection has closed. Neither an error nor a reset rejects it. */
function finished(socket: Socket, response?: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
    response?.once('finish', resolve);
  });
}
