import type { DeliveryObserver, KeepPositions, Lease, ReadEntries, Send } from './ports.ts';
import { failedAttempt } from './retries.ts';
import { sendPage } from './send-page.ts';

export interface Delivery {
  readonly feed: ReadEntries;
  readonly positions: Pick<KeepPositions, 'advance' | 'fail' | 'release'>;
  readonly send: Send;
  readonly observer: DeliveryObserver;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Resolves after so many milliseconds, or at the signal. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** From 0 to 1. */
  readonly random: () => number;
}

/**
 * Delivers under a lease until the signal, or until the lease is lost or ends with a failure. It never rejects.
 *
 * @param mayBegin whether requests may begin now, which the signal ends for ever
 * @param onAdvance called with the lease at each new position
 */
type DeliverToEndpoint = (
  lease: Lease,
  mayBegin: () => boolean,
  signal: AbortSignal,
  onAdvance: (lease: Lease) => void,
) => Promise<void>;

/** Milliseconds between looks at a lease that has too little time left. */
const RENEWAL_CHECK = 500;

export function deliverToEndpoint(delivery: Delivery): DeliverToEndpoint {
  const { feed, positions, send, observer, sleep, random } = delivery;

  return async (lease, mayBegin, signal, onAdvance) => {
    try {
      let current: Lease | undefined = lease;
      while (current !== undefined && !signal.aborted) {
        if (mayBegin()) current = await deliverPage(current, mayBegin, signal);
        else await sleep(RENEWAL_CHECK, signal);
        if (current !== undefined) onAdvance(current);
      }
    } catch (error) {
      observer.interrupted(error);
      // If that fails too, the lease expires by itself.
      await positions.release([lease]).catch(() => {});
    }
  };

  /** Resolves to the lease as it goes on; undefined if it does not. */
  async function deliverPage(lease: Lease, mayBegin: () => boolean, signal: AbortSignal): Promise<Lease | undefined> {
    const { endpoint } = lease;
    const { epoch, entries } = await feed.readEntries(lease.position);
    if (entries.length === 0) {
      await feed.awaitEntries(lease.position, signal);
      return lease;
    }
    const page = await sendPage(entries, (entry) => send(endpoint, { epoch, ...entry }), mayBegin);
    if (page.sent > 0) observer.delivered(endpoint, page.sent);
    const last = entries[page.acknowledged - 1];
    const advanced = last === undefined ? lease : { ...lease, position: last, failures: 0, failingFor: 0 };
    if (last !== undefined && !(await positions.advance(lease, last))) return undefined;
    const failing = entries[page.acknowledged];
    // At the end, requests are broken off.
    if (page.failure === undefined || failing === undefined || signal.aborted) return advanced;
    const attempt = failedAttempt(advanced, failing, page.failure, random());
    await positions.fail(lease, attempt);
    observer.failed(endpoint, attempt);
    return undefined;
  }
}
