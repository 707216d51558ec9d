import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ParserError, refusalOf } from './parser-refusals.ts';

interface Connection {
  /** The newest response; undefined once it is sent and its request has come whole. */
  response: ServerResponse | undefined;
  /** Whether no request has an effect: the response in progress is the last, or the last one was a refusal by the parser. */
  isEnding: boolean;
  /** How many bytes are read of it. */
  readUntil: number;
  /** Whether what comes stays with the kernel. */
  isUnread: boolean;
}

/**
 * Bytes that are read and discarded behind the last request: closing a connection with unread bytes would take from the
 * client what it has not read of the response (RFC 9112 section 9.6). More may be a flood.
 */
const DISCARDED = 8 * 1024;

/** Milliseconds for which they are read after the response. */
const LINGER = 500;

/**
 * Lets a connection have one request at a time. One that arrives while another is in progress, until the last byte of
 * whose response has been given to the socket, has no effect: the response in progress is the connection's last, and the
 * client sends the other request again (RFC 9112 section 9.3.2).
 *
 * @param handle responds to a request
 * @param refuse responds to what is no request, or comes too slowly, on a connection on which no request is in progress
 */
export function connections(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
  refuse: (error: ParserError, socket: Socket) => void,
) {
  const open = new Map<Socket, Connection>();
  let isStopping = false;

  return {
    /** A connection has opened. */
    add(socket: Socket): void {
      open.set(socket, { response: undefined, isEnding: false, readUntil: Number.POSITIVE_INFINITY, isUnread: false });
      socket.once('close', () => open.delete(socket));
    },

    /** The headers of a request have arrived. */
    handle(request: IncomingMessage, response: ServerResponse): void {
      const { socket } = request;
      const connection = open.get(socket);
      if (connection === undefined || !socket.writable) return;
      if (!connection.isEnding && connection.response?.closed === false) endAfter(connection, connection.response);
      if (connection.isEnding) {
        request.resume();
        if (socket.bytesRead > connection.readUntil) stopReading(connection, socket);
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

    /** The parser could not read what has come, or its time is up. */
    fail(error: ParserError, socket: Socket): void {
      const connection = open.get(socket);
      if (connection === undefined) return;
      if (connection.isEnding) {
        stopReading(connection, socket);
        return;
      }
      const { response } = connection;
      const isIncomplete = response?.req.complete === false;
      // The client has left, or the request had its response before its body came.
      if (error.code === 'ECONNRESET' || !socket.writable || (isIncomplete && response.closed)) socket.destroy();
      else if (response === undefined || response.closed) {
        connection.isEnding = true;
        refuse(error, socket);
      } else {
        endAfter(connection, response);
        // No request can follow, and each byte that is read puts off the time limit of a client that reads nothing.
        stopReading(connection, socket);
        // For the middleware, which may wait for the body. If the request has begun without it, its response goes on.
        if (isIncomplete) response.req.emit('error', refusalOf(error));
      }
    },

    /** The response in progress on a connection. */
    inProgress(socket: Socket): ServerResponse | undefined {
      const response = open.get(socket)?.response;
      return response?.closed ? undefined : response;
    },

    /** From now on, each response closes its connection. */
    endAfterResponses(): void {
      isStopping = true;
      for (const { response } of open.values()) {
        if (response?.headersSent === false) response.setHeader('Connection', 'close');
      }
    },

    /** Resolves when all connections have closed. */
    async allClosed(): Promise<void> {
      await Promise.all([...open.keys()].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    },
  };
}

/** Ends a connection after the response in progress. */
function endAfter(connection: Connection, response: ServerResponse): void {
  const { socket } = response.req;
  connection.isEnding = true;
  connection.readUntil = socket.bytesRead + DISCARDED;
  if (response.headersSent) response.once('finish', () => endLate(socket));
  else response.setHeader('Connection', 'close');
}

/** Closes its side, and reads what is still on the way, since Node has not read while the response waited to be sent. */
function endLate(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER);
  socket.once('close', () => clearTimeout(timer));
}

function stopReading(connection: Connection, socket: Socket): void {
  if (connection.isUnread) return;
  connection.isUnread = true;
  socket.pause();
  // Node resumes a socket itself when a request has been read or a response has been sent.
  socket.on('resume', () => socket.pause());
}
