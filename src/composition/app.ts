import type { Logger } from 'pino';
import { api } from '../adapters/http/api.ts';
import { management } from '../adapters/http/management.ts';
import { plantOperations } from '../adapters/http/operations/plant-operations.ts';
import { serve } from '../adapters/http/sockets/server.ts';
import { migrationGate } from '../adapters/postgres/migrator.ts';
import { postgresPlants } from '../adapters/postgres/plant-repository.ts';
import { requireReady } from '../adapters/postgres/readiness.ts';
import { storeCalls } from '../adapters/postgres/store-call.ts';
import { prometheusMetrics } from '../adapters/prometheus/metrics.ts';
import { useCases } from '../application/use-cases.ts';
import type { Config } from '../config/config.ts';
import { openDatabase } from './open-database.ts';
import { tokenVerifier } from './token-verifier.ts';

/** A running service. */
export interface App {
  readonly apiUrl: string;
  readonly managementUrl: string;
  /** Which database it uses, for people. */
  readonly database: string;
  /** The token it made because none is configured. */
  readonly ownToken: string | undefined;
  /** Milliseconds that proxies have to notice that /ready fails. */
  readonly shutdownDelay: number;
  /** Milliseconds that closing takes at most. */
  readonly shutdownTimeout: number;
  /** Rejects, saying what to do, while migrations are pending or the database does not answer or takes no plants. */
  ready(): Promise<unknown>;
  /**
   * Fails /ready, accepts connections for so many milliseconds more, finishes what is in flight and closes the database,
   * all within the configured time.
   */
  close(acceptFor: number): Promise<void>;
}

/**
 * Plugs the adapters into the application and starts it. On failure everything opened so far is closed again.
 *
 * @param droppedLines returns how many lines of the log have been dropped so far
 */
export async function startApp(config: Config, log: Logger, droppedLines: () => number): Promise<App> {
  const opened = new AsyncDisposableStack();
  try {
    return await start(config, log, droppedLines, opened);
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

async function start(
  config: Config,
  log: Logger,
  droppedLines: () => number,
  opened: AsyncDisposableStack,
): Promise<App> {
  const metrics = prometheusMetrics();

  // Driven side: the database and the repository in it.
  const database = await openDatabase(config.database, log);
  opened.defer(() => database.close());
  const plants = postgresPlants(database, {
    callStore: storeCalls({ schemaReady: migrationGate(database, log), timeout: config.storeTimeout }),
    batchRows: config.batchRows,
    onInsert: metrics.inserted,
  });
  const connections = () => database.connectionUse?.() ?? {};
  metrics.watch({ waiting: plants.waiting, connections, droppedLines });

  // The application.
  const operations = plantOperations(useCases(plants));

  // What the process is doing, and whether it should get requests.
  let state: 'starting' | 'serving' | 'shutting down' = 'starting';
  let acceptFor = 0;
  const service = async () => {
    if (state !== 'serving') throw new Error(state);
  };
  const ready = () => requireReady(database);

  // Driving side: the port for operators and the public one.
  const { verifyToken, ownToken } = await tokenVerifier(config, log, opened);
  const { host, port } = config.management;
  const managementServer = await serve(management({ service, database: ready }, metrics, log), host, port, log);
  opened.defer(() => managementServer.close(0));
  const baseUrl = () => config.api.baseUrl ?? apiServer.url;
  const { bodyLimit, limits, maxConnections } = config;
  const { corsOrigins } = config.api;
  const app = api({ operations, verifyToken, bodyLimit, limits, baseUrl, corsOrigins, log, observer: metrics });
  const apiServer = await serve(app, config.api.host, config.api.port, log, { maxConnections });
  // What is left of the time is for the database.
  opened.defer(() => apiServer.close(config.shutdownTimeout * 0.9, acceptFor));
  state = 'serving';

  return {
    apiUrl: apiServer.url,
    managementUrl: managementServer.url,
    database: database.description,
    ownToken,
    shutdownDelay: config.shutdownDelay,
    shutdownTimeout: config.shutdownTimeout,
    ready,
    close(milliseconds) {
      state = 'shutting down';
      acceptFor = milliseconds;
      return opened.disposeAsync();
    },
  };
}
