import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { management, type ReadinessCheck } from '../adapters/http/management.ts';
import { serve } from '../adapters/http/sockets/server.ts';
import { metricsContentType } from '../adapters/prometheus/metrics.ts';
import { workersMetrics } from '../adapters/prometheus/workers-metrics.ts';
import type { Config } from '../config/config.ts';
import { workerProcesses } from '../process/workers.ts';
import type { App } from './app.ts';

/** What a worker says at its start. */
export interface WorkerStart {
  readonly apiUrl: string;
  readonly database: string;
}

/** Milliseconds that a worker has for its metrics: less than Prometheus's default scrape_timeout, 10 s. */
const METRICS_TIMEOUT = 8_000;

/**
 * Starts the processes that serve the API together. This one has the management port, accepts the connections, and
 * replaces a process that ends.
 *
 * @param onFailure called with the reason if that does not help, once: the service must be stopped
 * @throws as startApp, with the reason of the process that cannot start
 */
export async function startWorkers(config: Config, log: Logger, onFailure: (reason: string) => void): Promise<App> {
  const places = Array.from({ length: config.processes }, (_, n) => `${n + 1}`);
  const workers = workerProcesses<WorkerStart>({
    module: fileURLToPath(new URL('./worker.ts', import.meta.url)),
    // Or each would find out anew what `auto` means.
    environment: { PROCESSES: `${config.processes}` },
    places,
    onEnd: (worker, pid, how) => log.error({ worker, pid }, `worker process ${how}`),
    onFailure(reason) {
      log.fatal(reason);
      onFailure(reason);
    },
  });

  let state: 'starting' | 'serving' | 'shutting down' = 'starting';
  const service = async () => {
    if (state !== 'serving') throw new Error(state);
    return undefined;
  };
  const check = (place: string) => workers.ask(place, 'ready') as ReturnType<ReadinessCheck>;
  const checks = Object.fromEntries(places.map((place) => [`worker ${place}`, () => check(place)]));
  const metrics = { contentType: metricsContentType, text: () => metricsOfAll(places, workers.ask) };

  const { host, port } = config.management;
  const managementServer = await serve(management({ service, ...checks }, metrics, log), host, port, log);
  try {
    const [first = { apiUrl: '', database: '' }] = await workers.start();
    state = 'serving';
    return {
      ...first,
      managementUrl: managementServer.url,
      ownToken: undefined,
      shutdownDelay: config.shutdownDelay,
      shutdownTimeout: config.shutdownTimeout,
      async ready() {
        const problems = await Promise.all(places.map(check));
        return problems.find((problem) => problem !== undefined);
      },
      async close(acceptFor) {
        state = 'shutting down';
        await workers.stop(acceptFor);
        await managementServer.close(0);
      },
    };
  } catch (error) {
    await managementServer.close(0);
    throw error;
  }
}

/** A process that ends, starts or hangs has none, which must not hide those of the others. */
async function metricsOfAll(
  places: readonly string[],
  ask: (place: string, question: string) => Promise<unknown>,
): Promise<string> {
  const pages = new Map<string, string>();
  const taken = places.map(async (place) => {
    const timeout = Promise.withResolvers<undefined>();
    const timer = setTimeout(timeout.resolve, METRICS_TIMEOUT, undefined);
    const page = await Promise.race([ask(place, 'metrics').catch(() => undefined), timeout.promise]);
    clearTimeout(timer);
    if (typeof page === 'string') pages.set(place, page);
  });
  await Promise.all(taken);
  return workersMetrics(pages);
}
