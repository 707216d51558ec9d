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
  const { HOST, PORT, MANAGEMENT_HOST, MANAGEMENT_PORT } = config;
  let state: 'starting' | 'serving' | 'shutting down' = 'starting';
  const metrics = prometheusMetrics();

  // Driven side: the database, and the tokens, one of which may be in the folder of the database.
  const store = await openStore(config.database, {
    timeout: config.STORE_TIMEOUT,
    endpoints: config.webhooks.map(({ name }) => name),
    log,
    onInsert: metrics.inserted,
  });
  const { verifyToken, ownToken } = await tokenVerifier(config, log);

  // Driving side: the public API, and the management server, which says whether the API should receive requests.
  const service = async () => {
    if (state !== 'serving') throw new Error(state);
    return undefined;
  };
  const ready = readiness({ service, database: store.ready });
  const app = api({
    cases: useCases(store),
    verifyToken,
    isReady: ready.isReady,
    baseUrl: () => config.BASE_URL ?? apiServer.url,
    corsOrigins: config.CORS_ORIGINS,
    pages: config.PAGES,
    bodyLimit: config.BODY_LIMIT,
    maxRequests: config.MAX_REQUESTS,
    maxRequestBytes: REQUEST_BYTES_MAX,
    maxStreams: config.MAX_STREAMS,
    maxFollowers: config.MAX_FOLLOWERS,
    log,
    observer: metrics,
  });
  metrics.collectFrom(app, store);
  const managementApp = management(ready, metrics.text, MANAGEMENT_HOST, log);
  const managementStart = serve(managementApp, MANAGEMENT_HOST, MANAGEMENT_PORT, log);
  const managementServer = await orPortProblem('MANAGEMENT_PORT', MANAGEMENT_PORT, managementStart);
  const limits = { maxConnections: config.MAX_CONNECTIONS, keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT };
  const apiServer = await orPortProblem('PORT', PORT, serve(app, HOST, PORT, log, limits, config.REUSE_PORT));
  // Once both servers listen, since an instance that cannot start must take no lease.
  const stopWebhooks = await startWebhooks(config, store, log, metrics);
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
    async close(acceptFor?: number): Promise<void> {
      state = 'shutting down';
      // Not earlier: a follower would reconnect at once after its response while connections are accepted.
      setTimeout(store.stopWaiting, acceptFor);
      // The remaining time is for closing the database.
      await Promise.all([stopWebhooks(), apiServer.close(config.SHUTDOWN_TIMEOUT * 0.9, acceptFor)]);
      await managementServer.close(0);
      await store.close();
    },
  };
}

/** @throws Error, saying what to do, in place of Node's own if a server cannot listen at the port of this variable */
async function orPortProblem<T>(variable: 'PORT' | 'MANAGEMENT_PORT', port: number, start: Promise<T>): Promise<T> {
  try {
    return await start;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(
      code === 'EADDRINUSE'
        ? `another process listens at ${variable} ${port}: stop it, or set ${variable} to another port`
        : `${message}: change ${variable.replace('PORT', 'HOST')} or ${variable}`,
    );
  }
}
