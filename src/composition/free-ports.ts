import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { Config } from '../config/config.ts';

/**
 * Tries whether the service can listen, before it opens a database. A port that instances share is not tried, since the
 * kernel would give the trial some of their connections.
 *
 * @throws Error with a line for each port that is in use and each address that this machine does not have
 */
export async function requireFreePorts({ api, management }: Pick<Config, 'api' | 'management'>): Promise<void> {
  const addresses = [
    { prefix: '' as const, ...api },
    { prefix: 'MANAGEMENT_' as const, ...management },
  ];
  const tried = addresses.slice(api.reusePort ? 1 : 0);
  const outcomes = await Promise.allSettled(
    tried.map(({ prefix, host, port }) => orPortProblem(prefix, port, listen(host, port))),
  );
  const opened = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
  await Promise.all(opened.map((server) => server[Symbol.asyncDispose]()));
  const problems = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? outcome.reason.message : []));
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

/** @throws Error, saying what to do, in place of Node's own if a server cannot listen at the port of `${prefix}PORT` */
export async function orPortProblem<T>(prefix: '' | 'MANAGEMENT_', port: number, listening: Promise<T>): Promise<T> {
  try {
    return await listening;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(
      code === 'EADDRINUSE'
        ? `${prefix}PORT ${port} is in use: stop the process that listens there, or set ${prefix}PORT to another port`
        : `${message}: change ${prefix}HOST or ${prefix}PORT`,
    );
  }
}

async function listen(host: string, port: number): Promise<Server> {
  // A client that connects meanwhile must not keep the server open.
  const server = createServer((socket) => socket.destroy()).listen(port, host);
  await once(server, 'listening');
  return server;
}
