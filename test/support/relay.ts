import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

export interface Relay {
  readonly port: number;
  /** The first bytes that came on each connection, oldest first. */
  readonly openings: readonly Buffer[];
  close(): void;
}

/** Passes every connection on to a port of this machine, and remembers how each began. */
export async function startRelay(port: number): Promise<Relay> {
  const openings: Buffer[] = [];
  const server = createServer((client) => {
    const target = connect(port, '127.0.0.1');
    client.once('data', (bytes) => openings.push(bytes));
    client.pipe(target).pipe(client);
    client.on('error', () => target.destroy());
    target.on('error', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, openings, close: () => server.close() };
}
