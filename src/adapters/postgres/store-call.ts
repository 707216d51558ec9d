import { setTimeout as delay } from 'node:timers/promises';
import { DeadlineError, meaningOf, translated } from './errors.ts';

interface StoreCallOptions {
  /** Rejects while the schema is not there yet; undefined once it is known to be. */
  readonly schemaReady: () => Promise<void> | undefined;
  /** Milliseconds until a call is given up. */
  readonly timeout: number;
}

/** What a statement can see of the call that it is for. */
export interface StoreCall {
  /** False once the call has its outcome, be it by its deadline: whoever gathers calls need not send it any more. */
  readonly isOpen: boolean;
}

/**
 * Makes a call of the store: does the work, again after a failure that passes by itself, until the deadline.
 *
 * @throws PlantStoreError `store_unavailable` if it cannot be done now; any other rejection is a defect
 */
export type CallStore = <T>(work: (call: StoreCall) => Promise<T>) => Promise<T>;

interface OpenCall {
  /** As performance.now() counts. */
  readonly deadline: number;
  readonly giveUp: (error: unknown) => void;
  /** Its place among the open calls. */
  index: number;
  isOpen: boolean;
}

/** Milliseconds to wait after a lost connection or a deadlock. */
const RETRY_DELAY = 50;

/** Milliseconds between two checks of the deadlines while any call is open. */
const CHECK_INTERVAL = 50;

/** What every statement for a request goes through: schema gate, retry, deadline and the translation of errors. */
export function storeCalls({ schemaReady, timeout }: StoreCallOptions): CallStore {
  // An array in which the last call takes the place of a closed one. Not a Set: V8 links each table that a Set has
  // outgrown to the next one, so that once one of them is old, all calls ever since outlive the young generation.
  const open: OpenCall[] = [];
  let checks: NodeJS.Timeout | undefined;

  function begin(giveUp: OpenCall['giveUp']): OpenCall {
    const call = { deadline: performance.now() + timeout, giveUp, index: open.length, isOpen: true };
    open.push(call);
    checks ??= setInterval(giveUpOverdue, CHECK_INTERVAL);
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

  function giveUpOverdue(): void {
    const now = performance.now();
    for (const call of open.filter(({ deadline }) => deadline <= now)) {
      end(call);
      call.giveUp(translated(new DeadlineError(`no outcome within ${timeout} ms`)));
    }
    if (open.length > 0) return;
    clearInterval(checks);
    checks = undefined;
  }

  async function attempt<T>(work: (call: StoreCall) => Promise<T>, call: OpenCall): Promise<T> {
    for (;;) {
      try {
        await schemaReady();
        return await work(call);
      } catch (error) {
        if (meaningOf(error) !== 'transient' || performance.now() + RETRY_DELAY >= call.deadline)
          throw translated(error);
        await delay(RETRY_DELAY);
      }
    }
  }

  return (work) =>
    new Promise((resolve, reject) => {
      const call = begin(reject);
      attempt(work, call)
        .then(resolve, reject)
        .finally(() => end(call));
    });
}
