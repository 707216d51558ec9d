import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

/*
 * Undocumented parts of Node's HTTP server, which no public interface replaces. server.test.ts and
 * connections.test.ts fail without them.
 */

/** A client that has closed its side after its request still gets its response, which Node would drop. */
export function respondToHalfClosed(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true });
}

/**
 * Stops listening, as net.Server does. The close of http.Server also destroys each connection without a request,
 * although a request may be on its way, or the client may still be reading the last response.
 */
export function stopListening(server: Server): void {
  NetServer.prototype.close.call(server);
}

/**
 * Has another end for a connection whose response said `Connection: close`: with bytes unread, Node's would take the end of
 * the response from the client (RFC 9112 section 9.6).
 */
export function replaceDestroySoon(socket: Socket, end: () => void): void {
  socket.destroySoon = end;
}
