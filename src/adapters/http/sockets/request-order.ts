import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Connection, Exchange } from '../exchange.ts';
import { stopParsing } from './undocumented-node.ts';

/** Requests that may wait on a connection behind the request in progress. */
export const MAX_WAITING = 16;

type Begin = (connection: Connection, request: IncomingMessage, response: ServerResponse) => void;

/**
 * Lets the requests of a connection take effect in their order (RFC 9112 section 9.3.2): each begins when the response
 * before it has closed, and none begins behind a response that closes the connection. If more come than may wait, the
 * response to the last waiting request closes the connection, and parsing stops at the next request.
 *
 * The connection is not read while a request with a body waits, or as many requests as may wait. Otherwise it is read,
 * since nothing else shows that its client leaves. Requests that still arrive were in the same read, of up to 64 KiB.
 *
 * @param begin begins an exchange
 * @param refuse responds to a request that the parser could not read, or that did not come in time
 */
export function requestOrder(begin: Begin, refuse: (error: Error, connection: Connection) => void) {
  const connections = new Map<Socket, Connection>();

  function pauseReading(connection: Connection): void {
    connection.isReadingPaused = true;
    connection.socket.pause();
  }

  /** Begins the next request of a connection on which none is in progress, or reads on until it comes. */
  function readNext(connection: Connection): void {
    const { socket, waiting, refusal } = connection;
    if (!socket.writable) return;
    const next = waiting.shift();
    if (next !== undefined) begin(connection, next.request, next.response);
    connection.isReadingPaused = mustNotRead(connection);
    if (!connection.isReadingPaused) socket.resume();
    if (refusal !== undefined && isNext(connection)) refuse(refusal, connection);
  }

  return {
    /** The open connections. */
    connections: connections as ReadonlyMap<Socket, Connection>,

    open(socket: Socket): Connection {
      const connection: Connection = { socket, isAuthenticated: false, waiting: [], isReadingPaused: false };
      connections.set(socket, connection);
      // Node resumes a socket itself when a request has been read or a response has been sent.
      socket.on('resume', () => void (connection.isReadingPaused && socket.pause()));
      socket.once('close', () => {
        connections.delete(socket);
        connection.waiting.length = 0;
      });
      return connection;
    },

    /** The headers of a request have arrived. */
    arrive(request: IncomingMessage, response: ServerResponse): void {
      const { socket } = request;
      const connection = connections.get(socket);
      if (connection === undefined || !socket.writable) return;
      const { exchange, waiting, isReadingPaused } = connection;
      if (waiting.length === MAX_WAITING) waiting.at(-1)?.response.setHeader('Connection', 'close');
      if (isOver(connection)) {
        pauseReading(connection);
        stopParsing(socket);
        return;
      }
      // Node's parser discards the bytes that follow an offered upgrade in the same read.
      if (request.headers.upgrade !== undefined) response.setHeader('Connection', 'close');
      if (exchange === undefined && waiting.length === 0 && !isReadingPaused) {
        begin(connection, request, response);
        return;
      }
      waiting.push({ request, response });
      if (mustNotRead(connection)) pauseReading(connection);
    },

    /**
     * An exchange has ended: the next request of its connection begins.
     *
     * After one that was not admitted, or behind which others wait, it begins in the next iteration of the event loop:
     * a client that sends one request after another would keep all others waiting. And while libuv finds a thousand
     * sockets readable, it polls again within the iteration (uv__io_poll), so clients that retry at once would delay
     * timers and new database connections for seconds.
     */
    end({ connection, readsNext }: Exchange): void {
      if (readsNext === 'at once' && connection.waiting.length === 0) {
        readNext(connection);
        return;
      }
      pauseReading(connection);
      setImmediate(readNext, connection);
    },

    /** The parser could not read a request, or its time is up. */
    fail(error: Error, socket: Socket): void {
      const connection = connections.get(socket);
      if (connection === undefined || connection.refusal !== undefined || isOver(connection)) return;
      connection.refusal = error;
      if (isNext(connection)) {
        refuse(error, connection);
        return;
      }
      pauseReading(connection);
      const { exchange } = connection;
      // It gets its response, though its body, which it does not need, cannot be read: it may take effect.
      if (exchange?.request.complete === false && !exchange.response.headersSent) {
        exchange.response.setHeader('Connection', 'close');
      }
    },
  };
}

/** Whether the request that is being read has not been admitted, and no other is in front of it. */
function isNext({ exchange, waiting }: Connection): boolean {
  return waiting.length === 0 && !exchange?.request.complete && exchange?.readsNext !== 'at once';
}

/** Whether the newest request has come whole, and the response to it closes the connection. */
function isOver({ exchange, waiting }: Connection): boolean {
  const newest = waiting.at(-1) ?? exchange;
  return newest?.request.complete === true && newest.response.getHeader('Connection') === 'close';
}

function mustNotRead(connection: Connection): boolean {
  const { waiting, refusal } = connection;
  if (refusal !== undefined || waiting.length === MAX_WAITING || isOver(connection)) return true;
  return waiting.some(({ request }) => hasBody(request));
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
