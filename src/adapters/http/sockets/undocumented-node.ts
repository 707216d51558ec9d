import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

/*
 * Undocumented parts of Node's HTTP server, which no public interface replaces. server.test.ts and
 * request-order.test.ts fail without them.
 */

/** @returns what the parser makes of the headers: 0 to go on, 1 and 2 for no body, -1 to fail */
type OnIncoming = (request: { upgrade: boolean }) => number;

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
 * Stops the parser of a connection: it fails at the end of the next headers (node_http_parser.cc, on_headers_complete),
 * `clientError` reports that, and the rest of the read is dropped. Node would make objects of all the requests in a read
 * of 64 KiB in one go: 2,500 of the shortest, which take 20 to 40 ms and 8 MiB.
 */
export function stopParsing(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: { onIncoming: OnIncoming } | null };
  if (!parser) return;
  parser.onIncoming = (request) => {
    // For an upgrade or a CONNECT, Node would close the connection before the waiting responses are sent.
    request.upgrade = false;
    return -1;
  };
}
