import cluster from 'node:cluster';
import { blockFor } from './block-for.ts';
import { endedAs, type WorkerProcess, workerProcess } from './worker-process.ts';

/** So many workers that end within so many milliseconds end all. */
const MAX_ENDS = 5;
const ENDS_INTERVAL = 60_000;

/** Milliseconds until the place of the second worker that ends is taken; doubles with each. That of the first is at once. */
const BACK_OFF = 250;

/** Tells a worker to end at once, and the milliseconds that it then has for its last lines of the log. */
export const END_AT_ONCE = 'SIGUSR2';
const LAST_LINES = 300;

interface Options {
  /** The module that a worker runs, with its place as the argument. */
  readonly module: string;
  /** Variables that a worker gets beside those of this process. */
  readonly environment: Readonly<Record<string, string>>;
  /** Names of the places, one for each worker; whoever takes a place gets its name. */
  readonly places: readonly string[];
  /** Called, after the start, whenever a worker has ended without being told to. */
  readonly onEnd: (place: string, pid: number | undefined, how: string) => void;
  /** Called, with the reason, when so many have ended within a minute that no more are started. */
  readonly onFailure: (reason: string) => void;
}

export interface Workers<Started> {
  /**
   * Starts all and resolves to what each says of its start.
   *
   * @throws the error of the first that fails, or Error if one ends meanwhile, once all have ended
   */
  start(): Promise<Started[]>;
  /** Asks the worker that has this place. @throws Error if it does not serve, or has no answer */
  ask(place: string, question: string): Promise<unknown>;
  /**
   * Asks all to stop, with this argument, and resolves once they have ended.
   *
   * @throws Error if one ends in another way
   */
  stop(argument: unknown): Promise<void>;
}

/**
 * Worker processes that share the ports that they listen on: this process accepts the connections and hands them out in
 * turn (node:cluster). A worker that ends is replaced. All end with this process, but how they take its loss is up to
 * them.
 */
export function workerProcesses<Started>(options: Options): Workers<Started> {
  const { module, environment, places, onEnd, onFailure } = options;
  const running = new Map<string, WorkerProcess<Started>>();
  let state: 'starting' | 'serving' | 'stopping' = 'starting';
  let ends: number[] = [];
  const replacements = new Set<NodeJS.Timeout>();
  cluster.schedulingPolicy = cluster.SCHED_RR;
  process.on('exit', endAll);

  function killAll(signal: NodeJS.Signals): void {
    for (const { kill } of running.values()) kill(signal);
  }

  /** Blocks for a moment, unless all have ended: in the end of a process nothing can be awaited. */
  function endAll(): void {
    if (running.size === 0) return;
    killAll(END_AT_ONCE);
    blockFor(LAST_LINES);
    killAll('SIGKILL');
  }

  function launch(place: string): WorkerProcess<Started> {
    cluster.setupPrimary({ exec: module, args: [place] });
    const worker = cluster.fork(environment);
    const launched = workerProcess<Started>(worker);
    running.set(place, launched);
    void launched.ended.then((how) => {
      running.delete(place);
      if (state === 'serving') replace(place, worker.process.pid, how);
    });
    return launched;
  }

  function replace(place: string, pid: number | undefined, how: string): void {
    const now = performance.now();
    ends = [...ends.filter((end) => now - end < ENDS_INTERVAL), now];
    onEnd(place, pid, how);
    if (ends.length >= MAX_ENDS) {
      state = 'stopping';
      onFailure(`${MAX_ENDS} worker processes have ended within a minute; the last one ${how}`);
      return;
    }
    const timer = setTimeout(
      () => {
        replacements.delete(timer);
        launch(place);
      },
      ends.length === 1 ? 0 : BACK_OFF * 2 ** (ends.length - 2),
    );
    replacements.add(timer);
  }

  return {
    async start() {
      try {
        const launched = places.map(launch);
        const firstEnd = Promise.race(launched.map(({ ended }) => ended));
        const started = await Promise.race([
          Promise.all(launched.map((worker) => worker.started)),
          firstEnd.then((how) => Promise.reject(endedAs(how))),
        ]);
        state = 'serving';
        return started;
      } catch (error) {
        state = 'stopping';
        killAll('SIGKILL');
        await Promise.all([...running.values()].map(({ ended }) => ended));
        throw error;
      }
    },
    async ask(place, question) {
      const worker = running.get(place);
      if (!worker?.hasStarted) throw new Error('starting');
      return worker.ask(question);
    },
    async stop(argument) {
      state = 'stopping';
      for (const timer of replacements) clearTimeout(timer);
      const stopped = [...running].map(async ([place, { started, ask, ended }]) => {
        // One that is being started is asked once it serves. A signal to all processes may end it before.
        const serves = await started.then(
          () => true,
          () => false,
        );
        if (serves) {
          await ask('stop', argument).catch(({ message }: Error) =>
            Promise.reject(new Error(`worker ${place}: ${message}`)),
          );
        }
        await ended;
      });
      const failed = (await Promise.allSettled(stopped)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
    },
  };
}
