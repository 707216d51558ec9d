import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { management } from '../adapters/http/management.ts';
import { serve } from '../adapters/http/sockets/server.ts';
import { joinedMetrics } from '../adapters/prometheus/joined-metrics.ts';
import type { App } from '../composition/app.ts';
import { followTokens } from '../composition/follow-tokens.ts';
import { freePort } from '../composition/free-ports.ts';
import type { Config } from '../config/config.ts';
import { shareOf } from '../config/shares.ts';
import { blockFor } from '../process/block-for.ts';
import { END_AT_ONCE, supervisedWorker } from './supervised-worker.ts';

/** Milliseconds that a worker has for the last lines of its log when this process ends at once. */
const LAST_LINES = 300;

// Linux distributes connections among processes that listen on the same port, each with a socket of its own. Elsewhere,
// as on macOS, they share one, from which each takes connections when it can.
const reusePort = process.platform === 'linux';
cluster.schedulingPolicy = cluster.SCHED_NONE;

/**
 * Starts the processes that serve the API together. This one has the management port, and starts a process again
 * whenever it ends.
 *
 * @throws as startApp, with the reason of the process that cannot start
 */
export async function startCluster(config: Config, log: Logger): Promise<App> {
  process.on('exit', endAll);
  const api = { ...config.api };
  // A worker starts with what was last valid in the tokens files, even while they are not.
  let { tokens } = config;
  followTokens(config, log, (changed) => {
    tokens = changed;
  });
  const workerConfig = () => ({ ...shareOf(config), tokens, api, reusePort });
  const workers = Array.from({ length: config.processes }, (_, n) => supervisedWorker(`${n + 1}`, workerConfig, log));
  let state: 'starting' | 'serving' | 'shutting down' = 'starting';
  const service = async () => {
    if (state !== 'serving') throw new Error(state);
    if (!workers.some(({ isServing }) => isServing())) throw new Error('no process serves');
    return undefined;
  };
  const checks = Object.fromEntries(workers.map(({ ready }, n) => [`worker ${n + 1}`, ready]));
  const metrics = async () =>
    joinedMetrics(await Promise.all(workers.map((worker) => worker.metrics().catch(() => []))));
  const { host, port } = config.management;
  const managementServer = await serve(management({ service, ...checks }, metrics, log), host, port, log);
  async function close(acceptFor: number): Promise<void> {
    state = 'shutting down';
    const closed = await Promise.allSettled(workers.map((worker) => worker.close(acceptFor)));
    await managementServer.close(0);
    for (const outcome of closed) if (outcome.status === 'rejected') throw outcome.reason;
  }
  try {
    // Of 0, each worker would find another one.
    api.port = await freePort(api.host, api.port);
    const [first = { apiUrl: '', database: '' }] = await Promise.all(workers.map(({ start }) => start()));
    state = 'serving';
    const ready = async () => (await Promise.all(workers.map((worker) => worker.ready()))).find(Boolean);
    const { url: managementUrl } = managementServer;
    return { ...first, managementUrl, ownToken: undefined, ready, close };
  } catch (error) {
    await close(0).catch(() => {});
    throw error;
  }
}

/** Blocks for a moment, unless all have ended: in the end of a process nothing can be awaited. */
function endAll(): void {
  const workers = Object.values(cluster.workers ?? {});
  for (const worker of workers) worker?.process.kill(END_AT_ONCE);
  if (workers.length > 0) blockFor(LAST_LINES);
  for (const worker of workers) worker?.process.kill('SIGKILL');
}
