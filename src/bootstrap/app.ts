import type { Logger } from 'pino';
import { api } from '../adapters/http/app.ts';
import { management } from '../adapters/http/management.ts';
import { readiness } from '../adapters/http/readiness.ts';
import { serve } from '../adapters/http/server.ts';
import { prometheusMetrics } from '../adapters/metrics/metrics.ts';
import { useCases } from '../application/use-cases.ts';
import type { Config } from '../config/config.ts';
import { openStore } from './open-store.ts';
import { tokenVerifier } from './token-verifier.ts';
import { startWebhooks } from './webhooks.ts';

/** Plugs the adapters into the application and starts it. On failure it closes everything it has opened. */
export async function startApp(config: Config, log: Logger) {
  const opened = new AsyncDisposableStack();
  try {
    return await start(config, log, opened);
  } catch (error) {
    // The reason to give up is this error, also if something cannot be closed.
    await opened.disposeAsync().catch(() => {});
    throw error;
  }
}

async function start(config: Config, log: Logger, opened: AsyncDisposableStack) {
  const metrics = prometheusMetrics();

  // Driven side: the database.
  const store = await openStore(config.database, { ...config, log, onInsert: metrics.inserted });
  opened.defer(() => store.close());

  // Readiness: whether the service should receive requests.
  let state: 'starting' | 'serving' | 'shutting down' = 'starting';
  let acceptFor: number | undefined;
  const service = async () => {
    if (state !== 'serving') throw new Error(state);
    return undefined;
  };
  const ready = readiness({ service, database: store.ready });

  // Driving side: the management server and the public API.
  const { verifyToken, ownToken } = await tokenVerifier(config, log, opened);
  const stopWebhooks = await startWebhooks(config, store, log, metrics);
  opened.defer(stopWebhooks);
  const { host, port, reusePort, baseUrl } = config.api;
  const app = api({
    ...config,
    ...config.api,
    baseUrl: () => baseUrl ?? apiServer.url,
    cases: useCases(store),
    verifyToken,
    isReady: ready.recently,
    log,
    observer: metrics,
  });
  metrics.collectFrom({
    operations: app.operations,
    streams: app.streams,
    followers: app.followers,
    ready: store.ready,
    ...store.measures,
  });
  const operators = config.management;
  const managementApp = management(ready, metrics.text, operators.host, log);
  const listening = serve(managementApp, operators.host, operators.port, log);
  const managementServer = await orPortProblem('MANAGEMENT_', operators.port, listening);
  opened.defer(() => managementServer.close(0));
  const { maxConnections, keepAliveTimeout } = config;
  const serving = serve(app, host, port, log, { maxConnections, keepAliveTimeout }, reusePort);
  const apiServer = await orPortProblem('', port, serving);
  // The remaining time is for closing the database.
  opened.defer(() => apiServer.close(config.shutdownTimeout * 0.9, acceptFor));
  state = 'serving';

  return {
    apiUrl: apiServer.url,
    managementUrl: managementServer.url,
    /** The database, in words. */
    database: store.description,
    /** The token that the service generated because none is configured. */
    ownToken,
    /** Rejects while migrations are pending or the database is unreachable or cannot store plants. */
    ready: store.ready,
    /**
     * Fails /ready, accepts connections for so many more milliseconds, drains the requests in flight and closes the database,
     * all within `shutdownTimeout`. Without them, idle connections are not kept for a request that may be on its way.
     */
    close(milliseconds?: number): Promise<void> {
      state = 'shutting down';
      // Not earlier: a follower with a response comes back at once while connections are accepted.
      setTimeout(store.stopWaiting, milliseconds);
      void stopWebhooks();
      acceptFor = milliseconds;
      return opened.disposeAsync();
    },
  };
}

/** @throws Error, saying what to do, in place of Node's own if a server cannot listen at the port of `${prefix}PORT` */
async function orPortProblem<T>(prefix: '' | 'MANAGEMENT_', port: number, listening: Promise<T>): Promise<T> {
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
