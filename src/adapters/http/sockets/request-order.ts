import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Connection, Exchange } from '../exchange.ts';

interface OrderLimits {
  /** Milliseconds. */
  readonly requestTimeout: number;
  /** Requests that wait on all connections together. */
  readonly maxWaiting: number;
}

/** Requests that may wait on a connection however many wait on others. */
const OWN_SHARE = 16;

/**
 * Lets the requests of a connection take effect in their order (RFC 9112 section 9.3.2): each begins when the response
 * before it has closed, and none begins behind a response that closes the connection.
 *
 * Once more than 16 wait, or a body has to, the connection is not read until none does. What has come by then is at most
 * one read of 64 KiB more, which Node.js parses to its end: some 2,500 requests.
 *
 * @param begin begins an exchange
 * @param refuse responds to what the parser could not read, or what did not come in time
 */
export function requestOrder(
  { requestTimeout, maxWaiting }: OrderLimits,
  begin: (connection: Connection, request: IncomingMessage, response: ServerResponse) => void,
  refuse: (error: Error, connection: Connection) => void,
) {
  const connections = new Map<Socket, Connection>();
  let allWaiting = 0;

  function start(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    // Node's parser discards what follows an offered upgrade in the same read, and does not watch the time of a late
    // request any more.
    if (request.headers.upgrade !== undefined || (connection.late !== undefined && connection.waiting.length === 0)) {
      response.setHeader('Connection', 'close');
    }
    begin(connection, request, response);
  }

  function hold(connection: Connection): void {
    connection.isHeld = true;
    connection.socket.pause();
  }

  /** Node.js reports that the time of a request is up, which counts from when the exchange before it was over. */
  function expire(error: Error, connection: Connection): void {
    const { exchange } = connection;
    const left = exchange === undefined ? 0 : exchange.start + requestTimeout - performance.now();
    if (!isNext(connection)) connection.late = error;
    else if (left > 0) expireAfter(left, error, connection);
    else refuseNow(error, connection);
  }

  function expireAfter(milliseconds: number, error: Error, connection: Connection): void {
    const request = connection.exchange?.request;
    setTimeout(() => {
      if (!request?.complete && isNext(connection)) refuseNow(error, connection);
    }, milliseconds).unref();
  }

  function refuseNow(error: Error, connection: Connection): void {
    connection.refusal = error;
    refuse(error, connection);
  }

  return {
    /** The open connections. */
    connections: connections as ReadonlyMap<Socket, Connection>,

    open(socket: Socket): Connection {
      const connection: Connection = { socket, isAuthenticated: false, waiting: [], isHeld: false };
      connections.set(socket, connection);
      // Node resumes it itself when a request has been read or a response has been sent.
      socket.on('resume', () => void (connection.isHeld && socket.pause()));
      socket.once('close', () => {
        connections.delete(socket);
        allWaiting -= connection.waiting.length;
        connection.waiting.length = 0;
      });
      return connection;
    },

    /** The headers of a request have arrived. */
    arrive(request: IncomingMessage, response: ServerResponse): void {
      const { socket } = request;
      const connection = connections.get(socket);
      if (connection === undefined || !socket.writable) return;
      const { exchange, waiting } = connection;
      if (exchange !== undefined && isLast(exchange)) return;
      if (exchange === undefined && waiting.length === 0) {
        start(connection, request, response);
        return;
      }
      waiting.push([request, response]);
      allWaiting++;
      if (waiting.length > OWN_SHARE || hasBody(request)) hold(connection);
      if (waiting.length > OWN_SHARE && allWaiting > maxWaiting) socket.destroy();
    },

    /** Nothing is in progress any more. */
    proceed(connection: Connection): void {
      const { socket, waiting, refusal, late } = connection;
      if (connection.exchange !== undefined || !socket.writable) return;
      const next = waiting.shift();
      if (waiting.length === 0 && refusal === undefined) connection.isHeld = false;
      if (!connection.isHeld) socket.resume();
      if (next !== undefined) {
        allWaiting--;
        start(connection, ...next);
      }
      if (waiting.length > 0) return;
      if (refusal !== undefined && isNext(connection)) refuse(refusal, connection);
      else if (late !== undefined) expireAfter(requestTimeout, late, connection);
    },

    /** The parser could not read what came, or the time for it is up. */
    fail(error: Error & { readonly code?: string }, socket: Socket): void {
      const connection = connections.get(socket);
      if (connection === undefined || connection.refusal !== undefined) return;
      const { exchange } = connection;
      if (exchange?.request.complete && isLast(exchange)) return;
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
        expire(error, connection);
        return;
      }
      connection.refusal = error;
      // A response that is being sent is cut, since whoever sends garbage may never read it.
      if (isNext(connection) || exchange?.response.headersSent) refuse(error, connection);
      else hold(connection);
    },
  };
}

/** Whether no request is in front of what is being read. */
function isNext({ exchange, waiting }: Connection): boolean {
  return waiting.length === 0 && !exchange?.request.complete;
}

/** Whether its response closes the connection. */
function isLast({ response }: Exchange): boolean {
  return response.getHeader('Connection') === 'close';
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
