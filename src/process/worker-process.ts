import type { ChildProcess } from 'node:child_process';
import type { Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type Ask, questionsTo } from './questions.ts';

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

/** A worker process, as the primary sees it. */
export interface WorkerProcess<Started> {
  readonly ask: Ask;
  readonly started: Promise<Started>;
  /** Resolves to how it has ended, in words, after all that it has sent. */
  readonly ended: Promise<string>;
  /** Whether it serves. */
  readonly hasStarted: boolean;
  kill(signal: NodeJS.Signals): void;
}

/** Follows a worker from its fork to its end. */
export function workerProcess<Started>(worker: Worker): WorkerProcess<Started> {
  const { process: child } = worker;
  const started = Promise.withResolvers<Started>();
  let hasStarted = false;
  let failure: string | undefined;
  // Also that nothing could be sent to one that has just ended.
  worker.on('error', () => {});
  // Otherwise it could not even be started.
  if (child.pid !== undefined) closeUnconfirmed(child);
  const ended = endOf(child).then((how) => (failure === undefined ? how : `could not start: ${failure}`));
  child.on('message', (message: FirstMessage<Started>) => {
    if ('started' in message) {
      hasStarted = true;
      started.resolve(message.started);
    } else if ('failed' in message) {
      failure = message.failed.message;
      started.reject(Object.assign(new Error(failure), message.failed));
    }
  });
  void ended.then((how) => started.reject(endedAs(how)));
  // A replacement's failure is told by its end.
  started.promise.catch(() => {});
  return {
    ask: questionsTo(child, ended),
    started: started.promise,
    ended,
    get hasStarted() {
      return hasStarted;
    },
    kill: (signal) => child.kill(signal),
  };
}

/** @param how a worker has ended, in words */
export function endedAs(how: string): Error {
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
