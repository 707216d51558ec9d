import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { atEnd } from '../lifetimes.ts';

/** Has a server listen at a port of the loopback interface, until the end of the test. @returns the port */
export async function listening(server: Server, port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Closes a server with all its connections, if it listens. */
export async function closed(server: HttpServer): Promise<void> {
  if (!server.listening) return;
  const isClosed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await isClosed;
}
