import { setTimeout as delay } from 'node:timers/promises';
import type { ChangeLog } from '../changes/log.ts';
import type { LogEntry, Position } from '../changes/ports.ts';
import type { DeliveryFailure, DeliveryObserver, KeepPositions, Lease, Message, Send, SendError } from './ports.ts';

export interface Delivery {
  readonly feed: Pick<ChangeLog, 'readEntries' | 'awaitEntries'>;
  readonly positions: Pick<KeepPositions, 'advance' | 'fail' | 'release'>;
  readonly send: Send;
  /** Must be called before each wave of requests to an endpoint. Returns how many may begin at the same time. */
  readonly beginWave: (endpoint: string) => number;
  readonly observer: DeliveryObserver;
}

/** Resolves after so many milliseconds, or at the signal. */
export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch(() => {});
}

/** Milliseconds between checks of a lease that has too little time left. */
const RENEWAL_CHECK_MS = 500;

/**
 * Delivers under a lease until the signal, or until the lease is lost or ends with a failure. It never rejects.
 *
 * @param mayBegin whether requests may begin now; false for ever after the signal
 * @param onAdvance called with the lease at each new position
 */
export async function deliverToEndpoint(
  { feed, positions, send, beginWave, observer }: Delivery,
  lease: Lease,
  mayBegin: () => boolean,
  signal: AbortSignal,
  onAdvance: (lease: Lease) => void,
): Promise<void> {
  const { endpoint } = lease;
  try {
    let current: Lease | undefined = lease;
    while (current !== undefined && !signal.aborted) {
      if (mayBegin()) current = await deliverPage(current);
      else await sleep(RENEWAL_CHECK_MS, signal);
      if (current !== undefined) onAdvance(current);
    }
  } catch (error) {
    observer.interrupted(error);
    // If the release fails too, the lease expires by itself.
    await positions.release([lease]).catch(() => {});
  }

  /** Resolves to the lease at its new position; undefined if it has ended. */
  async function deliverPage(current: Lease): Promise<Lease | undefined> {
    const { epoch, entries } = await feed.readEntries(current.position);
    if (entries.length === 0) {
      await feed.awaitEntries(current.position, signal);
      return current;
    }
    const sendEntry = (entry: Omit<Message, 'epoch'>) => send(endpoint, { epoch, ...entry });
    const page = await sendPage(entries, sendEntry, () => beginWave(endpoint), mayBegin);
    if (page.sent > 0) observer.delivered(endpoint, page.sent);
    const last = entries[page.acknowledged - 1];
    const newLease = last === undefined ? current : { ...current, position: last, failures: 0, failingFor: 0 };
    if (last !== undefined && !(await positions.advance(current, last))) return undefined;
    const failing = entries[page.acknowledged];
    // Requests that the signal aborts are no failures.
    if (page.failure === undefined || failing === undefined || signal.aborted) return newLease;
    const attempt = deliveryFailure(newLease, failing, page.failure);
    await positions.fail(current, attempt);
    observer.failed(endpoint, attempt);
    return undefined;
  }
}

/** The outcome of sending a page. */
interface PageOutcome {
  /** How many rows at the start are acknowledged or have nothing to send. */
  readonly acknowledged: number;
  /** How many plants the endpoint has acknowledged, including those after the failure. */
  readonly sent: number;
  /** Why the next row is not acknowledged, if it was sent. */
  readonly failure: SendError | undefined;
}

/**
 * Sends the plants of a page in waves. A wave is sent at once, since each plant is in the page once. No wave follows a
 * failure: the page that is read later then has the newest states.
 *
 * @param mayBegin called before each wave
 */
async function sendPage(
  entries: readonly LogEntry[],
  send: (entry: Omit<Message, 'epoch'>) => Promise<SendError | undefined>,
  beginWave: () => number,
  mayBegin: () => boolean,
): Promise<PageOutcome> {
  let sent = 0;
  for (let start = 0, end = 0; start < entries.length; start = end) {
    end = start + beginWave();
    const wave = entries.slice(start, end);
    const plants = wave.filter(({ stored }) => stored !== 'deleted').length;
    if (plants > 0 && !mayBegin()) return { acknowledged: start, sent, failure: undefined };
    const failures = await Promise.all(
      wave.map(({ stored, ...position }) => (stored === 'deleted' ? undefined : send({ ...position, plant: stored }))),
    );
    sent += plants - failures.filter((failure) => failure !== undefined).length;
    const gap = failures.findIndex((failure) => failure !== undefined);
    if (gap >= 0) return { acknowledged: start + gap, sent, failure: failures[gap] };
  }
  return { acknowledged: entries.length, sent, failure: undefined };
}

const HOUR_MS = 3_600_000;

/** Milliseconds until the next attempt after the first failure, the second and so on. The last delay repeats. */
const DELAYS_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000, HOUR_MS];

/** The fraction of a delay by which it may grow at random, so that not all endpoints of a host are tried at once. */
const JITTER_MAX = 0.1;

/** Milliseconds without any progress after which an endpoint is parked: three days. */
const PATIENCE_MS = 72 * HOUR_MS;

/** Three days of these delays are at least this many failures; fewer mean that the clock of the store has jumped. */
const FAILURES_MIN = 10;

/**
 * Decides when to try again.
 *
 * @param lease as it was before the failure, or since the last progress
 */
function deliveryFailure(lease: Lease, failing: Position, failure: SendError): DeliveryFailure {
  const { reason, isGone = false, retryAfter = 0 } = failure;
  const failures = lease.failures + 1;
  const delay = DELAYS_MS[Math.min(failures, DELAYS_MS.length) - 1] ?? HOUR_MS;
  const retryIn = Math.max(delay, Math.min(retryAfter, HOUR_MS)) * (1 + JITTER_MAX * Math.random());
  const isLost = lease.failingFor >= PATIENCE_MS && failures >= FAILURES_MIN;
  return { failing, reason, failures, retryIn, isParked: isGone || isLost };
}
