import type { Logger } from 'pino';
import { api } from '../adapters/http/api.ts';
import { management } from '../adapters/http/management.ts';
import { operationsOn } from '../adapters/http/operations/operations.ts';
import { serve } from '../adapters/http/sockets/server.ts';
import { postgresPlants } from '../adapters/postgres/plant-repository.ts';
import { readiness } from '../adapters/postgres/readiness.ts';
import { migrationGate } from '../adapters/postgres/schema-gate.ts';
import { storeCalls } from '../adapters/postgres/store-call.ts';
import { prometheusMetrics } from '../adapters/prometheus/metrics.ts';
import { useCases } from '../application/use-cases.ts';
import type { Config } from '../config/config.ts';
import { openDatabase } from './open-database.ts';
import { tokenVerifier } from './token-verifier.ts';

/** A running service. */
export interface App {
  readonly apiUrl: string;
  /** Undefined for one of several processes: the first one has the port. */
  readonly managementUrl: string | undefined;
  /** Which database it uses, in words. */
  readonly database: string;
  /** The token that the service generated because none is configured. */
  readonly ownToken: string | undefined;
  /** Milliseconds for proxies to notice that /ready fails. */
  readonly shutdownDelay: number;
  /** Milliseconds that `close` may take. */
  readonly shutdownTimeout: number;
  /**
   * Rejects, saying what to do, while migrations are pending or the database is unreachable or cannot store plants.
   * Resolves to what else does not work, in words, or to undefined.
   */
  ready(): Promise<string | undefined>;
  /**
   * Fails /ready, accepts connections for `acceptFor` more milliseconds, drains the requests in flight and closes the
   * database, all within `shutdownTimeout`.
   */
  close(acceptFor: number): Promise<void>;
}

/** The configuration of one process; without a management port, the app has none. */
type ProcessConfig = Omit<Config, 'management'> & Partial<Pick<Config, 'management'>>;

/** A running service of a single process, or one of several processes. */
interface ProcessApp extends App {
  /** Its metrics in Prometheus's text format. */
  metrics(): Promise<string>;
}

/**
 * Plugs the adapters into the application and starts it. On failure it closes everything it has opened.
 *
 * @param droppedLines returns how many log lines have been dropped so far
 */
export async function startApp(config: ProcessConfig, log: Logger, droppedLines: () => number): Promise<ProcessApp> {
  const opened = new AsyncDisposableStack();
  try {
    return await start(config, log, droppedLines, opened);
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

async function start(
  config: ProcessConfig,
  log: Logger,
  droppedLines: () => number,
  opened: AsyncDisposableStack,
): Promise<ProcessApp> {
  const metrics = prometheusMetrics();

  // Driven side: the database and its repository.
  const database = await openDatabase(config.database, log);
  opened.defer(() => database.close());
  const plants = postgresPlants(database, {
    callStore: storeCalls({ schemaReady: migrationGate(database, log), timeout: config.storeTimeout }),
    batchRows: config.batchRows,
    onInsert: metrics.inserted,
  });
  const connections = () => database.connectionUse?.() ?? {};
  const { waiting, changesLag } = plants;
  metrics.collectFrom({ waiting, connections, changesLag, droppedLines });

  const operations = operationsOn(useCases(plants));

  // Readiness: whether the service should receive requests.
  let state: 'starting' | 'serving' | 'shutting down' = 'starting';
  let acceptFor = 0;
  const service = async () => {
    if (state !== 'serving') throw new Error(state);
    return undefined;
  };
  const ready = readiness(database);

  // Driving side: the management server and the public API.
  const { verifyToken, ownToken } = await tokenVerifier(config, log, opened);
  let managementUrl: string | undefined;
  if (config.management !== undefined) {
    const { host, port } = config.management;
    const managementServer = await serve(management({ service, database: ready }, metrics, log), host, port, log);
    opened.defer(() => managementServer.close(0));
    managementUrl = managementServer.url;
  }
  const baseUrl = () => config.api.baseUrl ?? apiServer.url;
  const { bodyLimit, limits, maxStreams, maxFollowers, maxConnections } = config;
  const { corsOrigins } = config.api;
  const app = api({
    operations,
    verifyToken,
    bodyLimit,
    limits,
    maxStreams,
    maxFollowers,
    baseUrl,
    corsOrigins,
    log,
    observer: metrics,
  });
  const apiServer = await serve(app, config.api.host, config.api.port, log, { maxConnections });
  // The remaining time is for closing the database.
  opened.defer(() => apiServer.close(config.shutdownTimeout * 0.9, acceptFor));
  state = 'serving';

  return {
    apiUrl: apiServer.url,
    managementUrl,
    database: database.description,
    ownToken,
    shutdownDelay: config.shutdownDelay,
    shutdownTimeout: config.shutdownTimeout,
    ready,
    metrics: metrics.text,
    close(milliseconds) {
      state = 'shutting down';
      plants.stopWaiting();
      acceptFor = milliseconds;
      return opened.disposeAsync();
    },
  };
}
