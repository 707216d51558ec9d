import { setTimeout as delay } from 'node:timers/promises';
import { classify, DeadlineError, translated } from './errors.ts';

interface StoreCallOptions {
  /** Rejects while migrations are pending; returns undefined once they are known to be applied. */
  readonly schemaReady: () => Promise<void> | undefined;
  /** Milliseconds until a call times out. */
  readonly timeout: number;
}

/** The part of a call that its work can see. */
export interface StoreCall {
  /** False once the call has its outcome, including a timeout: a batcher need not run it any more. */
  readonly isOpen: boolean;
}

/**
 * Does the work of a call, and repeats it after transient failures until the deadline.
 *
 * @throws PlantStoreError `store_unavailable` if it cannot be done now; any other rejection is a defect
 */
export type CallStore = <T>(work: (call: StoreCall) => Promise<T>) => Promise<T>;

interface OpenCall {
  /** As performance.now() counts. */
  readonly deadline: number;
  readonly reject: (error: unknown) => void;
  /** Its index among the open calls. */
  index: number;
  isOpen: boolean;
}

/** Milliseconds to wait after a transient failure. */
const RETRY_DELAY = 50;

/** Milliseconds between checks of the deadlines while any call is open. */
const CHECK_INTERVAL = 50;

/** Every statement for a request goes through this: migration gate, retry, deadline and the translation of errors. */
export function storeCalls({ schemaReady, timeout }: StoreCallOptions): CallStore {
  // An array in which the last call replaces a closed one. Not a Set: V8 links each table that a Set has outgrown to
  // the next, so that once one of them is in the old generation, it keeps all later calls alive until a major GC.
  const open: OpenCall[] = [];
  let checks: NodeJS.Timeout | undefined;

  function begin(reject: OpenCall['reject']): OpenCall {
    const call = { deadline: performance.now() + timeout, reject, index: open.length, isOpen: true };
    open.push(call);
    checks ??= setInterval(timeOutOverdue, CHECK_INTERVAL);
    return call;
  }

  function end(call: OpenCall): void {
    if (!call.isOpen) return;
    call.isOpen = false;
    const last = open.pop();
    if (last === undefined || last === call) return;
    open[call.index] = last;
    last.index = call.index;
  }

  function timeOutOverdue(): void {
    const now = performance.now();
    for (const call of open.filter(({ deadline }) => deadline <= now)) {
      end(call);
      call.reject(translated(new DeadlineError(`no outcome within ${timeout} ms`)));
    }
    if (open.length > 0) return;
    clearInterval(checks);
    checks = undefined;
  }

  async function attempt<T>(work: (call: StoreCall) => Promise<T>, call: OpenCall): Promise<T> {
    for (;;) {
      try {
        // Awaiting undefined would take a turn of the microtask queue, and memory, for each call.
        const checking = schemaReady();
        if (checking !== undefined) await checking;
        return await work(call);
      } catch (error) {
        if (classify(error) !== 'transient' || performance.now() + RETRY_DELAY >= call.deadline)
          throw translated(error);
        await delay(RETRY_DELAY);
      }
    }
  }

  return (work) =>
    new Promise((resolve, reject) => {
      const call = begin(reject);
      // `finally` would take 0.9 KiB more for each call.
      attempt(work, call).then(
        (result) => {
          end(call);
          resolve(result);
        },
        (error) => {
          end(call);
          reject(error);
        },
      );
    });
}
