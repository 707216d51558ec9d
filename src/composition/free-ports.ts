import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { Config } from '../config/config.ts';

/**
 * Tries whether the service can listen, before it opens a database.
 *
 * @throws Error with a line for each port that is in use and each address that is none of this machine's
 */
export async function requireFreePorts({ api, management }: Pick<Config, 'api' | 'management'>): Promise<void> {
  const opened: Server[] = [];
  const problems: string[] = [];
  for (const [prefix, { host, port }] of [['', api] as const, ['MANAGEMENT_', management] as const]) {
    await listen(host, port).then(
      (server) => opened.push(server),
      ({ code, message }: NodeJS.ErrnoException) =>
        problems.push(
          code === 'EADDRINUSE'
            ? `${prefix}PORT ${port} is in use: stop the process that listens there, or set ${prefix}PORT to another port`
            : `${message}: change ${prefix}HOST or ${prefix}PORT`,
        ),
    );
  }
  await Promise.all(opened.map((server) => server[Symbol.asyncDispose]()));
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

/** Listens for a moment. @returns the port, one that is free for 0. @throws Node's own error if that is not possible */
export async function freePort(host: string, port: number): Promise<number> {
  const server = await listen(host, port);
  const { port: found } = server.address() as AddressInfo;
  await server[Symbol.asyncDispose]();
  return found;
}

async function listen(host: string, port: number): Promise<Server> {
  // A client that connects meanwhile must not keep it open.
  const server = createServer((socket) => socket.destroy()).listen(port, host);
  await once(server, 'listening');
  return server;
}
