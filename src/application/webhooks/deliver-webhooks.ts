import type { DeliveryObserver, KeepPositions, Lease, ReadEntries, Send } from './ports.ts';
import { setbackOf } from './retries.ts';
import { sendPage } from './send-page.ts';

interface Delivery {
  readonly feed: ReadEntries;
  readonly positions: KeepPositions;
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
 * Delivers the plants that are new or have changed to an endpoint, in the order of the feed, until the signal: at least
 * once, the newest state of each. Of several that deliver to one endpoint, one does at a time. It never rejects.
 */
export type DeliverWebhooks = (endpoint: string, stop: AbortSignal) => Promise<void>;

/** Milliseconds for which a lease holds; another instance takes over so long after this one was killed. */
const LEASE_TIME = 10_000;

/** Milliseconds between attempts to take the lease. */
const POLL = 2_000;

/** Milliseconds between reads while nothing is new. */
const IDLE = 250;

/** The part of its time after which a lease is renewed. */
const RENEWAL = 0.3;

export function deliverWebhooks(delivery: Delivery): DeliverWebhooks {
  const { feed, positions, send, observer, now, sleep, random } = delivery;

  return async (endpoint, stop) => {
    while (!stop.aborted) {
      try {
        const asked = now();
        const lease = await positions.take(endpoint, LEASE_TIME);
        if (lease !== undefined) await deliverUnder(lease, asked, stop);
      } catch (error) {
        observer.interrupted(endpoint, error);
      }
      await sleep(POLL, stop);
    }
  };

  /** @param since when the lease was asked for */
  async function deliverUnder(lease: Lease, since: number, stop: AbortSignal): Promise<void> {
    const renewal = renewed(lease, since);
    const mayBegin = () => !stop.aborted && renewal.isHeld();
    try {
      for (let current: Lease | undefined = lease; current !== undefined && mayBegin(); ) {
        current = await deliverPage(current, mayBegin, stop);
      }
    } finally {
      renewal.end();
    }
    // Otherwise it expires by itself, also if the store has just failed: that takes no second wait for it.
    await positions.release(lease).catch(() => {});
  }

  /** Resolves to the lease as it goes on; undefined if it does not. */
  async function deliverPage(lease: Lease, mayBegin: () => boolean, stop: AbortSignal): Promise<Lease | undefined> {
    const { endpoint } = lease;
    const { epoch, entries } = await feed.readEntries(lease.position);
    if (entries.length === 0) {
      await sleep(IDLE, stop);
      return lease;
    }
    const page = await sendPage(entries, (entry) => send(endpoint, { epoch, ...entry }), mayBegin);
    if (page.sent > 0) observer.delivered(endpoint, page.sent);
    const last = entries[page.acknowledged - 1];
    const advanced = last === undefined ? lease : { ...lease, position: last, failures: 0, failingFor: 0 };
    if (last !== undefined && !(await positions.advance(lease, last))) return undefined;
    const failing = entries[page.acknowledged];
    if (failing === undefined) return advanced;
    // At the end of this process, requests are broken off.
    if (page.failure !== undefined && !stop.aborted) {
      const setback = setbackOf(advanced, failing, page.failure, random());
      await positions.fail(lease, setback);
      observer.failed(endpoint, setback);
    }
    return undefined;
  }

  /** Renews a lease until `end`. By the clock of this process, it never holds for longer than by that of the store. */
  function renewed(lease: Lease, since: number): { isHeld(): boolean; end(): void } {
    const ended = new AbortController();
    let until = since + LEASE_TIME;

    async function renew(): Promise<void> {
      for (;;) {
        await sleep(LEASE_TIME * RENEWAL, ended.signal);
        if (ended.signal.aborted) return;
        const asked = now();
        // What cannot be renewed now may be a moment later.
        const isRenewed = await positions.renew(lease, LEASE_TIME).catch(() => undefined);
        if (isRenewed) until = asked + LEASE_TIME;
        if (isRenewed === false) until = Number.NEGATIVE_INFINITY;
      }
    }

    void renew();
    return { isHeld: () => now() < until, end: () => ended.abort() };
  }
}
