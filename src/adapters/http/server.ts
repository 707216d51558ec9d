import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type Koa from 'koa';
import type { Logger } from 'pino';
import { connections } from './connections.ts';
import type { RequestObserver } from './middleware/log-line.ts';

/** Limits on clients, in bytes and milliseconds. */
export const serverLimits = {
  maxHeaderSize: 32 * 1024,
  /** From the first byte of a request to the end of its headers, and from the opening of a connection to that byte. */
  headersTimeout: 10_000,
  /** From the first byte of a request to the end of its body. */
  requestTimeout: 30_000,
  /** How often these two limits are checked: often, so that a flood of slow clients is refused in small portions. */
  connectionsCheckingInterval: 100,
  /** How long a response may wait until the system takes more of it; twice as long if data was sent meanwhile. */
  responseTimeout: 30_000,
  /** Longer than the 60 s of common proxies: a proxy that waits longer may send a request on a connection just closed. */
  keepAliveTimeout: 75_000,
  maxConnections: 10_000,
};

/** Milliseconds between two warnings of too many connections. */
const WARNING_INTERVAL_MS = 60_000;

export interface HttpServer {
  /** The address at which it listens, as http://host:port. */
  readonly url: string;
  /**
   * Stops accepting connections after `acceptFor` milliseconds. Each is then closed once it is idle, all that are left after
   * `timeout`. Responses that begin meanwhile carry `Connection: close`. Resolves once all have closed.
   */
  close(timeout: number, acceptFor?: number): Promise<void>;
}

/** A Koa app, and the observer of requests that never reach it. */
interface ServedApp {
  readonly app: Pick<Koa, 'callback'>;
  readonly observer?: RequestObserver | undefined;
}

/**
 * Serves an app, on a free port if `port` is 0.
 *
 * @param reusePort whether the kernel distributes connections among all processes that listen there
 * @throws Node's own error if it cannot listen there.
 */
export async function serve(
  { app, observer }: ServedApp,
  host: string,
  port: number,
  log: Logger,
  limits: Partial<typeof serverLimits> = {},
  reusePort = false,
): Promise<HttpServer> {
  const { responseTimeout, maxConnections, ...nodeLimits } = { ...serverLimits, ...limits };
  const open = connections(app.callback(), log, observer);
  const options = {
    ...nodeLimits,
    // The app refuses requests without a Host, with an Error body.
    requireHostHeader: false,
    // Duplicates of a singleton header, once joined, fail the checks of its value; otherwise Node would use the first value.
    joinDuplicateHeaders: true,
    // Requests without a body then emit no stream events, which took half the time of a flood of pipelined requests.
    optimizeEmptyRequests: true,
  };
  const server = createServer(options, open.handle);
  // The app gets these requests, too: it sends 100 Continue after the token check, or else an Error body.
  server.on('checkContinue', open.handle);
  server.on('checkExpectation', open.handle);
  server.on('clientError', (error, socket) => open.fail(error, socket as Socket));
  server.on('connection', open.add);
  server.maxConnections = maxConnections;
  server.on('drop', dropWarning(maxConnections, log));
  server.setTimeout(responseTimeout, open.timeOut);
  // Without an address Node listens at ::, or at 0.0.0.0 where there is no IPv6.
  server.listen({ port, reusePort, ...(host !== '::' && { host }) });
  await once(server, 'listening');

  return {
    url: urlOf(server),
    async close(timeout, acceptFor = 0) {
      const end = once(server, 'close');
      const deadline = setTimeout(() => server.close().closeAllConnections(), timeout);
      open.endAfterResponses();
      if (acceptFor > 0) await delay(acceptFor);
      // Node's close would cut off responses, so new connections are closed meanwhile.
      server.removeAllListeners('drop').maxConnections = 0;
      await open.drain();
      server.close();
      await open.closeOnceIdle();
      await end;
      clearTimeout(deadline);
    },
  };
}

/** Node closes connections beyond the limit without a report. */
function dropWarning(connections: number, log: Logger): () => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - warnedAt < WARNING_INTERVAL_MS) return;
    warnedAt = performance.now();
    log.warn({ connections }, 'too many connections: further ones are closed');
  };
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  // Requests cannot be sent to a wildcard address.
  const host = address === '0.0.0.0' || address === '::' ? 'localhost' : address;
  return `http://${family === 'IPv6' && host === address ? `[${address}]` : host}:${port}`;
}
