import cluster from 'node:cluster';
import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import type { ProcessApp, ProcessConfig } from '../composition/app.ts';

/** What is requested of a worker. A request rejects with the message of its error, or with how the worker ended. */
export interface Requests extends Pick<ProcessApp, 'ready' | 'metrics' | 'close'> {
  /** The first one: starts the app. */
  start(config: ProcessConfig): Promise<Pick<ProcessApp, 'apiUrl' | 'database'>>;
}
export type Request = { readonly id: number; readonly name: keyof Requests; readonly args: unknown[] };
/** The first one, of id 0, says that the worker takes requests. */
export type Response = { readonly id: number; readonly value?: unknown; readonly error?: string };

/** Ends a worker at once, with the last lines of its log. */
export const END_AT_ONCE = 'SIGUSR2';

/** Milliseconds until a worker is started again: doubled each time, and the first again once it has run for so long. */
const RESTART_DELAY = { first: 250, longest: 30_000, reset: 60_000 };

/** Milliseconds that a worker has for its metrics: less than Prometheus's default scrape_timeout, 10 s. */
const METRICS_TIMEOUT = 8_000;

/**
 * A worker, which is started again whenever it ends.
 *
 * @param name a number from 1 on, in the log, the metrics and the list of processes
 * @param config called at each start
 */
export function supervisedWorker(name: string, config: () => ProcessConfig, log: Logger) {
  const started = Promise.withResolvers<Awaited<ReturnType<Requests['start']>>>();
  let running: WorkerProcess | undefined;
  let serving: WorkerProcess | undefined;
  let isClosing = false;
  let problem = 'is starting';

  async function supervise(): Promise<void> {
    for (let failures = 0; !isClosing; failures++) {
      const start = performance.now();
      running = undefined;
      try {
        running = forkWorker(name);
        problem = await run(running);
      } catch (error) {
        // Node.js reports some failures to fork by an event, and throws others.
        problem = `could not be forked: ${(error as Error).message}`;
        started.reject(new Error(`Worker process ${name} ${problem}`));
      }
      if (isClosing) return;
      if (performance.now() - start > RESTART_DELAY.reset) failures = 0;
      const restartMs = Math.min(RESTART_DELAY.first * 2 ** failures, RESTART_DELAY.longest);
      log.error({ worker: name, pid: running?.child.pid, restartMs }, `worker process ${problem}`);
      await delay(restartMs);
    }
  }

  /** Resolves to how it has ended, in words. */
  async function run({ child, ended, request }: WorkerProcess): Promise<string> {
    try {
      started.resolve(await request('start', config()));
      serving = running;
      return await ended;
    } catch (error) {
      const how = `could not start: ${(error as Error).message}`;
      started.reject(new Error(`Worker process ${name} ${how}`));
      child.kill('SIGKILL');
      await ended;
      return how;
    } finally {
      serving = undefined;
    }
  }

  return {
    /** Resolves once it serves. @throws Error, saying why, if it cannot start */
    start() {
      void supervise();
      return started.promise;
    },
    isServing: () => serving !== undefined,
    /** As the app's. While it does not serve, resolves to the reason. */
    ready: async () => (serving ? serving.request('ready') : `not serving: it ${problem}`),
    /** None while it does not serve or hangs, which must not hide those of the others. */
    metrics: async () => (serving ? Promise.race([serving.request('metrics'), delay(METRICS_TIMEOUT, [])]) : []),
    /** Closes its app and ends it. @throws Error, saying why, if it does not end in good order */
    async close(acceptFor: number) {
      isClosing = true;
      if (serving === undefined) running?.child.kill('SIGKILL');
      await serving?.request('close', acceptFor).catch(({ message }: Error) => {
        throw new Error(`worker process ${name}: ${message}`);
      });
      // node:cluster ends a worker whose channel closes.
      serving?.child.disconnect();
      await running?.ended;
    },
  };
}

type WorkerProcess = ReturnType<typeof forkWorker>;

/** Starts a process that runs worker.ts. `ended` resolves to how it has ended, in words. */
function forkWorker(name: string) {
  const exec = fileURLToPath(new URL('./worker.ts', import.meta.url));
  const execArgv = [...process.execArgv, '--disable-sigusr1'];
  // Unlike JSON, the advanced serialization keeps NaN.
  cluster.setupPrimary({ exec, args: [name], execArgv, serialization: 'advanced' });
  const worker = cluster.fork();
  const child = worker.process;
  const ended = new Promise<string>((resolve) => {
    worker.once('exit', (code, signal) => resolve(signal ? `was ended by ${signal}` : `ended with code ${code}`));
    // Requests to a worker that has just ended are reported here, too.
    worker.on('error', ({ message }) => child.pid === undefined && resolve(`could not be forked: ${message}`));
  });
  const responses = new EventEmitter().setMaxListeners(0).on('error', () => {});
  worker.on('message', (response: Response) => responses.emit(`${response.id}`, response));
  void ended.then((how) => responses.emit('error', new Error(`it ${how}`)));
  const takesRequests = once(responses, '0');
  let lastId = 0;
  async function request(name: keyof Requests, ...args: unknown[]): Promise<unknown> {
    await takesRequests;
    const id = ++lastId;
    worker.send({ id, name, args } satisfies Request);
    const [{ value, error }] = (await once(responses, `${id}`)) as [Response];
    if (error !== undefined) throw new Error(error);
    return value;
  }
  type Typed = <N extends keyof Requests>(name: N, ...args: Parameters<Requests[N]>) => ReturnType<Requests[N]>;
  return { child, ended, request: request as Typed };
}
