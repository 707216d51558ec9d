import type { Logger } from 'pino';
import { api } from '../adapters/http/app.ts';
import { management } from '../adapters/http/management.ts';
import { readiness } from '../adapters/http/readiness.ts';
import { serve } from '../adapters/http/server.ts';
import { prometheusMetrics } from '../adapters/metrics/metrics.ts';
import { useCases } from '../application/use-cases.ts';
import type { Config } from '../config/config.ts';
import { REQUEST_BYTES_MAX } from '../config/rules.ts';
import { openStore } from './open-store.ts';
import { tokenVerifier } from './token-verifier.ts';
import { startWebhooks } from './webhooks.ts';

/** Plugs the adapters into the application and starts it. On failure the process must end, which closes what is open. */
export async function startApp(config: Config, log: Logger) {
  const resources = new AsyncDisposableStack();
  const metrics = prometheusMetrics();

  // Driven side: the database.
  const store = await openStore(config.database, {
    storeTimeout: config.STORE_TIMEOUT,
    webhooks: config.webhooks,
    log,
    onInsert: metrics.inserted,
  });
  resources.defer(() => store.close());

  // Readiness: whether the service should receive requests.
  let state: 'starting' | 'serving' | 'shutting down' = 'starting';
  let acceptFor: number | undefined;
  const service = async () => {
    if (state !== 'serving') throw new Error(state);
    return undefined;
  };
  const ready = readiness({ service, database: store.ready });

  // Driving side: the management server and the public API.
  const { verifyToken, ownToken } = await tokenVerifier(config, log, resources);
  let stopWebhooks = async () => {};
  resources.defer(() => stopWebhooks());
  const app = api({
    cases: useCases(store),
    verifyToken,
    isReady: ready.recently,
    baseUrl: () => config.BASE_URL ?? apiServer.url,
    corsOrigins: config.CORS_ORIGINS,
    pages: config.PAGES,
    bodyLimit: config.BODY_LIMIT,
    limits: { maxRequests: config.MAX_REQUESTS, maxRequestBytes: REQUEST_BYTES_MAX },
    maxStreams: config.MAX_STREAMS,
    maxFollowers: config.MAX_FOLLOWERS,
    log,
    observer: metrics,
  });
  metrics.collectFrom({
    operations: app.operations,
    streams: app.streams,
    followers: app.followers,
    ready: store.ready,
    connections: store.connections,
    changesLag: store.changesLag,
  });
  const { HOST, PORT, MANAGEMENT_HOST, MANAGEMENT_PORT } = config;
  const managementApp = management(ready, metrics.text, MANAGEMENT_HOST, log);
  const managing = serve(managementApp, MANAGEMENT_HOST, MANAGEMENT_PORT, log);
  const managementServer = await orPortProblem('MANAGEMENT_PORT', MANAGEMENT_PORT, managing);
  resources.defer(() => managementServer.close(0));
  const limits = { maxConnections: config.MAX_CONNECTIONS, keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT };
  const apiServer = await orPortProblem('PORT', PORT, serve(app, HOST, PORT, log, limits, config.REUSE_PORT));
  // The remaining time is for closing the database.
  resources.defer(() => apiServer.close(config.SHUTDOWN_TIMEOUT * 0.9, acceptFor));
  // Once both servers listen, since an instance that cannot start must take no lease.
  stopWebhooks = await startWebhooks(config, store, log, metrics);
  state = 'serving';

  return {
    apiUrl: apiServer.url,
    managementUrl: managementServer.url,
    /** A description of the database. */
    database: store.description,
    /** The token that the service generated because none is configured. */
    ownToken,
    /** Rejects while migrations are pending or the database is unreachable or cannot store plants. */
    ready: store.ready,
    /**
     * Fails /ready, accepts connections for this many milliseconds, drains the requests in flight and closes the database,
     * all within SHUTDOWN_TIMEOUT. Without them, idle connections are closed at once, even if a request is on its way.
     */
    close(milliseconds?: number): Promise<void> {
      state = 'shutting down';
      // Not earlier: a follower would reconnect at once after its response while connections are accepted.
      setTimeout(store.stopWaiting, milliseconds);
      void stopWebhooks();
      acceptFor = milliseconds;
      return resources.disposeAsync();
    },
  };
}

/** @throws Error, saying what to do, in place of Node's own if a server cannot listen at the port of this variable */
async function orPortProblem<T>(variable: 'PORT' | 'MANAGEMENT_PORT', port: number, listening: Promise<T>): Promise<T> {
  try {
    return await listening;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(
      code === 'EADDRINUSE'
        ? `another process listens at ${variable} ${port}: stop it, or set ${variable} to another port`
        : `${message}: change ${variable.replace('PORT', 'HOST')} or ${variable}`,
    );
  }
}
