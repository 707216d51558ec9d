import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { RequestObserver } from '../request/log-line.ts';
import { type ParserError, refusalOf, refuse } from './parser-refusals.ts';
import { replaceDestroySoon } from './undocumented-node.ts';

interface Connection {
  /** The newest response; undefined once it is sent and its request has come whole. */
  response: ServerResponse | undefined;
  /** Whether no request has an effect: the response in progress is the last, or the last one was a refusal by the parser. */
  isEnding: boolean;
  /** The requests without an effect that have come. */
  ignored: number;
  /** Whether `stopReading` was called. */
  hasStoppedReading: boolean;
}

/**
 * Requests without an effect that are read: closing a connection with unread bytes would take from the client what it
 * has not read of the response (RFC 9112 section 9.6). More may be a flood.
 */
const MAX_IGNORED = 16;

/** Milliseconds without a byte of them after the response. */
const LINGER = 1_000;

/**
 * Lets a connection have one request at a time, which is in progress until the last byte of its response has been given to
 * the socket. One that arrives before has no effect: the response in progress is the connection's last, and the client sends
 * the other request again (RFC 9112 section 9.3.2).
 */
export function connections(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
  log: Logger,
  observer?: RequestObserver,
) {
  const open = new Map<Socket, Connection>();
  let isStopping = false;

  return {
    /** A connection has opened. */
    add(socket: Socket): void {
      const connection: Connection = { response: undefined, isEnding: false, ignored: 0, hasStoppedReading: false };
      open.set(socket, connection);
      socket.once('close', () => open.delete(socket));
      replaceDestroySoon(socket, () => {
        // A body that was refused may have no end, and cost more than requests.
        if (connection.response?.req.complete === false) socket.end(() => socket.destroy());
        else end(socket);
      });
    },

    /** The headers of a request have arrived. */
    handle(request: IncomingMessage, response: ServerResponse): void {
      const { socket } = request;
      const connection = open.get(socket);
      if (connection === undefined) return;
      if (!connection.isEnding && connection.response?.closed === false) endAfter(connection, connection.response);
      // Also where this side has been closed: Node would keep a request and a response of each.
      if (connection.isEnding || !socket.writable) {
        if (!request.readableEnded) request.resume();
        // Node has begun the time of a request again.
        if (!socket.writable) socket.setTimeout(LINGER);
        connection.ignored++;
        if (connection.ignored === MAX_IGNORED) stopReading(connection, socket);
        return;
      }
      connection.response = response;
      // The last byte has been given to the socket.
      response.once('finish', () => {
        if (request.complete) connection.response = undefined;
      });
      // Node's parser discards the bytes that follow an offered upgrade in the same read.
      if (isStopping || request.headers.upgrade !== undefined) response.setHeader('Connection', 'close');
      handle(request, response);
    },

    /** The parser could not read what has come, its time is up, or it is a CONNECT. */
    fail(error: ParserError, socket: Socket): void {
      const connection = open.get(socket);
      if (connection === undefined) return;
      const { response } = connection;
      const isIncomplete = response?.req.complete === false;
      // Node has taken its own listener away, as for a tunnel.
      if (error.code === 'CONNECT' && response?.closed === false) socket.on('drain', () => response.emit('drain'));
      // Nothing parses what comes behind it, and it has a deadline: unread, it would hide that the client leaves.
      const ignoreRest = () => (error.code === 'CONNECT' ? socket.resume() : stopReading(connection, socket));
      if (connection.isEnding) ignoreRest();
      // The client has left, or the request had its response before its body came.
      else if (error.code === 'ECONNRESET' || !socket.writable || (isIncomplete && response.closed)) socket.destroy();
      else if (response === undefined || response.closed) {
        connection.isEnding = true;
        refuse(error, socket, log, observer);
      } else {
        endAfter(connection, response);
        // No request can follow, and each byte that is read puts off the time limit of a client that reads nothing.
        ignoreRest();
        // For the middleware, which may wait for the body. If the request has begun without it, its response goes on.
        if (isIncomplete) response.req.emit('error', refusalOf(error));
      }
    },

    /** Nothing has been sent or received for a while. */
    timeOut(socket: Socket): void {
      const response = open.get(socket)?.response;
      // Requests that the app still works on have deadlines of their own, but a list waits for its client.
      if (response?.writableEnded !== false || response.writableNeedDrain) socket.destroy();
    },

    /** From now on, each response closes its connection, unless its headers have been sent. */
    endAfterResponses(): void {
      isStopping = true;
      for (const { response } of open.values()) {
        if (response?.headersSent === false) response.setHeader('Connection', 'close');
      }
    },

    /** After `endAfterResponses`: ends the other connections, too, once what was sent has gone out. */
    endOthers(): void {
      for (const [socket, { response }] of open) {
        if (response === undefined || response.closed) end(socket);
        else if (response.headersSent) endOnceSent(response);
      }
    },

    /** Closes all connections at once. */
    destroy(): void {
      for (const socket of open.keys()) socket.destroy();
    },

    /** Resolves when all connections have closed. */
    async allClosed(): Promise<void> {
      await Promise.all([...open.keys()].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    },
  };
}

/** Ends a connection after the response in progress. */
function endAfter(connection: Connection, response: ServerResponse): void {
  connection.isEnding = true;
  if (response.headersSent) endOnceSent(response);
  else response.setHeader('Connection', 'close');
}

function endOnceSent(response: ServerResponse): void {
  response.once('finish', () => end(response.req.socket));
}

/** What is still on the way is read, since Node has not read while a response waited to be sent. */
function end(socket: Socket): void {
  socket.end().setTimeout(LINGER);
}

/** For good, until it closes. */
function stopReading(connection: Connection, socket: Socket): void {
  // Node emits 'resume' a tick after it has resumed. A pause in between would suppress the 'pause' of the listener below.
  if (connection.hasStoppedReading) return;
  connection.hasStoppedReading = true;
  socket.pause();
  // Node resumes a socket itself when a request has been read or a response has been sent.
  socket.on('resume', () => socket.pause());
  // Node then makes two errors for each request without a response: the stacks of a flood's would take 15 ms.
  const { stackTraceLimit } = Error;
  socket.prependListener('close', () => (Error.stackTraceLimit = 0));
  socket.on('close', () => (Error.stackTraceLimit = stackTraceLimit));
}
