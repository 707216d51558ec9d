import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export type Trouble = (request: IncomingMessage, response: ServerResponse) => void;

/** What receivers of webhooks do that acknowledge nothing. */
export const webhookTroubles: Readonly<Record<string, Trouble>> = {
  'does not respond': () => {},
  'responds with 500': (_, response) => response.writeHead(500).end(),
  redirects: (_, response) => response.writeHead(307, { Location: '/plants' }).end(),
  'closes the connection': ({ socket }) => socket.destroy(),
  'sends an octet a second'({ socket }) {
    socket.write('HTTP/1.1 200 ');
    drip(socket, 'x', 1_000);
  },
  'sends headers without end'({ socket }) {
    socket.write('HTTP/1.1 200 OK\r\n');
    drip(socket, 'X: x\r\n', 20);
  },
};

/** Writes something again and again until the other side has gone. */
export function drip(socket: Socket, chunk: string, interval: number): void {
  const timer = setInterval(() => socket.write(chunk), interval);
  socket.on('close', () => clearInterval(timer));
}
