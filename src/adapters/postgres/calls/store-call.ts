import { setTimeout as delay } from 'node:timers/promises';
import { CALL_CLOSED, DeadlineError } from '../errors.ts';
import { classify, isOutcomeUnknown, outcomeUnknown, toPortError } from '../failures.ts';

interface StoreCallOptions {
  /** Rejects while migrations are pending; returns undefined once they are known to be applied. */
  readonly schemaReady: () => Promise<void> | undefined;
  /** Milliseconds until a call times out. */
  readonly timeout: number;
  /** Called with the error of each attempt that fails. */
  readonly onFailure?: (error: unknown) => void;
}

/** The part of a call that its work can see. */
export interface CallState {
  /** False once the call has its outcome, including a timeout: a batcher need not run it any more. */
  readonly isOpen: boolean;
  /** How many calls its next statement may serve: fewer after one that it shared has failed, perhaps because of another. */
  maxShared: number;
}

/**
 * Does the work of a call, and repeats it after transient failures until the deadline.
 *
 * @param isDefinitive whether a result is right whatever an earlier attempt of unknown outcome has done or may still
 * do; undefined if every result is
 * @throws PlantStoreError `store_unavailable` if it cannot be done now, or if it cannot be known whether it was done;
 * any other rejection is a defect
 */
export type CallStore = <T>(work: (call: CallState) => Promise<T>, isDefinitive?: (result: T) => boolean) => Promise<T>;

interface OpenCall extends CallState {
  /** As performance.now() counts. */
  readonly deadline: number;
  isOpen: boolean;
}

/** Milliseconds to wait after a transient failure: twice as long after each, from the first to the last of these. */
const PAUSE = { first: 50, longest: 1_000 };

/** Every statement for a request goes through this: migration gate, retry, deadline and the translation of errors. */
export function storeCalls({ schemaReady, timeout, onFailure }: StoreCallOptions): CallStore {
  async function attempt<T>(
    work: (call: CallState) => Promise<T>,
    call: OpenCall,
    isDefinitive: ((result: T) => boolean) | undefined,
  ): Promise<T> {
    let isUncertain = false;
    let pause = PAUSE.first;
    for (;;) {
      const { maxShared } = call;
      try {
        // Awaiting undefined would take a turn of the microtask queue, and memory, for each call.
        const checking = schemaReady();
        if (checking !== undefined) await checking;
        if (!call.isOpen) throw CALL_CLOSED;
        const result = await work(call);
        if (isUncertain && isDefinitive?.(result) === false) throw outcomeUnknown();
        return result;
      } catch (error) {
        onFailure?.(error);
        isUncertain ||= isOutcomeUnknown(error);
        if (call.maxShared < maxShared && call.isOpen) continue;
        // A run that this call has joined was given up with the call that began it.
        if (error === CALL_CLOSED && call.isOpen) continue;
        if (classify(error) !== 'transient' || performance.now() + pause >= call.deadline) throw toPortError(error);
        await delay(pause);
        pause = Math.min(2 * pause, PAUSE.longest);
      }
    }
  }

  return (work, isDefinitive) =>
    new Promise((resolve, reject) => {
      const call: OpenCall = {
        deadline: performance.now() + timeout,
        isOpen: true,
        maxShared: Number.POSITIVE_INFINITY,
      };
      const timer = setTimeout(() => {
        call.isOpen = false;
        reject(toPortError(new DeadlineError(`no outcome within ${timeout} ms`)));
      }, timeout);
      const end = () => {
        call.isOpen = false;
        clearTimeout(timer);
      };
      // `finally` would take more memory (docs/performance.md).
      attempt(work, call, isDefinitive).then(
        (result) => {
          end();
          resolve(result);
        },
        (error) => {
          end();
          reject(error);
        },
      );
    });
}
