import type { ChildProcess } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { blockFor } from './block-for.ts';
import { type Ask, questionsTo } from './questions.ts';

/** So many workers that end within so many milliseconds end all. */
const MAX_ENDS = 5;
const ENDS_INTERVAL = 60_000;

/** Milliseconds until the place of the second worker that ends is taken; doubles with each. That of the first is at once. */
const BACK_OFF = 250;

/** Tells a worker to end at once, and the milliseconds that it then has for its last lines of the log. */
export const END_AT_ONCE = 'SIGUSR2';
const LAST_LINES = 300;

/** Milliseconds between checks whether everything that an ended process has sent has arrived. */
const POLL_INTERVAL = 10;

/** What a worker says of itself once, at its start. */
export type FirstMessage<Started> = { readonly started: Started } | { readonly failed: StartError };

/** What is left of an error on its way to the primary. */
interface StartError {
  readonly message: string;
  readonly code?: string | undefined;
  readonly syscall?: string | undefined;
  readonly port?: number | undefined;
}

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
   * @throws StartError of the first that fails, or Error if one ends meanwhile, once all have ended
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

interface Running<Started> {
  readonly ask: Ask;
  readonly started: Promise<Started>;
  /** Resolves to how it has ended, in words, after all that it has sent. */
  readonly ended: Promise<string>;
  /** Whether it serves. */
  hasStarted: boolean;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Worker processes that share the ports that they listen on: this process accepts the connections and hands them out in
 * turn (node:cluster). A worker that ends is replaced. All end with this process, but how they take its loss is up to
 * them.
 */
export function workerProcesses<Started>(options: Options): Workers<Started> {
  const { module, environment, places, onEnd, onFailure } = options;
  const running = new Map<string, Running<Started>>();
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

  function launch(place: string): Running<Started> {
    cluster.setupPrimary({ exec: module, args: [place] });
    const worker = cluster.fork(environment);
    const launched = observed<Started>(worker);
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

function observed<Started>(worker: Worker): Running<Started> {
  const { process: child } = worker;
  const started = Promise.withResolvers<Started>();
  let failure: string | undefined;
  // Also that nothing could be sent to one that has just ended.
  worker.on('error', () => {});
  // Otherwise it could not even be started.
  if (child.pid !== undefined) closeUnconfirmed(child);
  const ended = endOf(child).then((how) => (failure === undefined ? how : `could not start: ${failure}`));
  const launched: Running<Started> = {
    ask: questionsTo(child, ended),
    started: started.promise,
    ended,
    hasStarted: false,
    kill: (signal) => child.kill(signal),
  };
  child.on('message', (message: FirstMessage<Started>) => {
    if ('started' in message) {
      launched.hasStarted = true;
      started.resolve(message.started);
    } else if ('failed' in message) {
      failure = message.failed.message;
      started.reject(Object.assign(new Error(failure), message.failed));
    }
  });
  void ended.then((how) => started.reject(endedAs(how)));
  // A replacement's failure is told by its end.
  started.promise.catch(() => {});
  return launched;
}

function endedAs(how: string): Error {
  return new Error(`A worker process ${how}.`);
}

/** Resolves to how a process has ended, in words, once all that it has sent has arrived. */
async function endOf(child: ChildProcess): Promise<string> {
  // It could not even be started.
  if (child.pid === undefined) return `could not start: ${(await once(child, 'error'))[0]}`;
  let isDisconnected = false;
  child.once('disconnect', () => {
    isDisconnected = true;
  });
  // Not events.once, which an error rejects, such as that of a message to a process that has just ended.
  const how = await new Promise<string>((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(signal === null ? `ended with code ${code}` : `was ended by ${signal}`),
    );
  });
  while (child.connected) await delay(POLL_INTERVAL);
  // Node.js 24 forgets the event if a connection was on its way to the process (internal/child_process.js: disconnect,
  // which waits for _handleQueue), and node:cluster would count on the process for ever.
  await delay(POLL_INTERVAL);
  if (!isDisconnected) child.emit('disconnect');
  return how;
}

/** A message of node:cluster, as far as it matters here. It is not documented. */
interface ClusterMessage {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

/**
 * Closes the connection that a worker was handed and had not taken when it ended. node:cluster keeps that open for ever,
 * waiting for the confirmation, and so would the client (Node.js 24, internal/cluster/round_robin_handle.js: handoff).
 * There is at most one, since the next one is handed over after the confirmation.
 */
function closeUnconfirmed(child: ChildProcess): void {
  let unconfirmed: { readonly seq: number | undefined; readonly connection: { close(): void } } | undefined;
  const send = child.send.bind(child) as (...args: unknown[]) => boolean;
  Object.assign(child, {
    send(message: ClusterMessage, connection: { close(): void }, ...rest: unknown[]) {
      if (message.act === 'newconn') unconfirmed = { seq: message.seq, connection };
      return send(message, connection, ...rest);
    },
  });
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined && ack === unconfirmed?.seq) unconfirmed = undefined;
  });
  child.once('disconnect', () => unconfirmed?.connection.close());
}
