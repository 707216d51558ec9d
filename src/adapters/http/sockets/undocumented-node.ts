import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

/*
 * Undocumented parts of Node's HTTP server, which no public interface replaces. server.test.ts and
 * request-order.test.ts fail without them.
 */

/** A client that has closed its side after its requests still gets its responses, which Node would drop. */
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
 * Makes the rest of what has been read from a connection an error of its parser, which `clientError` reports, when the
 * next headers are complete (node_http_parser.cc, on_headers_complete). Node would make objects of all the requests in
 * a read of 64 KiB in one go: 2,500 of the shortest, which take 20 to 40 ms and 8 MiB.
 */
export function parseNoMore(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: { onIncoming: () => number } | null };
  if (parser) parser.onIncoming = () => -1;
}
