import { setImmediate as nextIteration } from 'node:timers/promises';
import type {
  DeliveryObserver,
  Entry,
  KeepPositions,
  Lease,
  Position,
  ReadEntries,
  Setback,
} from '../../../src/application/webhooks/ports.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';

/* What the delivery of webhooks needs, in memory and in a time of its own. */

/** Milliseconds that pass only in `pass`. */
export function virtualTime() {
  let time = 0;
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();
  /** Lets everything go on that does not wait for time. */
  const settle = async () => {
    for (let n = 0; n < 3; n++) await nextIteration();
  };
  return {
    now: () => time,
    sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const sleeper = { at: time + milliseconds, wake };
        function wake(): void {
          sleepers.delete(sleeper);
          signal.removeEventListener('abort', wake);
          resolve();
        }
        signal.addEventListener('abort', wake);
        sleepers.add(sleeper);
      });
    },
    settle,
    async pass(milliseconds: number): Promise<void> {
      const end = time + milliseconds;
      for (;;) {
        await settle();
        const [next] = [...sleepers].sort((a, b) => a.at - b.at);
        if (next === undefined || next.at > end) break;
        time = next.at;
        next.wake();
      }
      time = end;
    },
  };
}

/** One endpoint in a store whose clock is `now`. */
export function fakeStore(now: () => number) {
  const entries: Entry[] = [];
  let row: { position: Position; holder: string; expires: number; setback: Setback | undefined; retryAt: number };
  let failingSince = 0;
  let leases = 0;
  let isAvailable = true;

  const whenAvailable = <T>(work: () => T) =>
    isAvailable ? Promise.resolve().then(work) : Promise.reject(new PlantStoreError('store_unavailable', 'not now'));
  const isHeld = ({ holder }: Lease) => row.holder === holder;

  const feed: ReadEntries = {
    readEntries: ({ changed }) =>
      whenAvailable(() => ({ epoch: 'epoch', entries: entries.filter((one) => one.changed > changed).slice(0, 100) })),
  };
  const positions: KeepPositions = {
    take: (endpoint, milliseconds) =>
      whenAvailable(() => {
        const start = { changed: 0n, id: 0n };
        row ??= { position: start, holder: '', expires: 0, setback: undefined, retryAt: 0 };
        const isFree = row.holder === '' || row.expires < now();
        if (!isFree || row.setback?.isParked || row.retryAt > now()) return undefined;
        row.holder = `${++leases}`;
        row.expires = now() + milliseconds;
        const failures = row.setback?.failures ?? 0;
        const failingFor = failures === 0 ? 0 : now() - failingSince;
        return { endpoint, holder: row.holder, position: row.position, failures, failingFor };
      }),
    renew: (lease, milliseconds) =>
      whenAvailable(() => {
        if (isHeld(lease)) row.expires = now() + milliseconds;
        return isHeld(lease);
      }),
    advance: (lease, { changed, id }) =>
      whenAvailable(() => {
        if (isHeld(lease)) Object.assign(row, { position: { changed, id }, setback: undefined });
        return isHeld(lease);
      }),
    fail: (lease, setback) =>
      whenAvailable(() => {
        if (!isHeld(lease)) return;
        if (row.setback === undefined) failingSince = now();
        Object.assign(row, { holder: '', setback, retryAt: now() + setback.retryIn });
      }),
    release: (lease) =>
      whenAvailable(() => {
        if (isHeld(lease)) row.holder = '';
      }),
  };
  let lastChanged = 0n;
  /** The earlier state is gone then. */
  function put(id: bigint, record: string | undefined): void {
    const before = entries.findIndex((entry) => entry.id === id);
    if (before >= 0) entries.splice(before, 1);
    entries.push({ changed: ++lastChanged, id, record });
  }
  return {
    feed,
    positions,
    row: () => row,
    setAvailable(available: boolean) {
      isAvailable = available;
    },
    write: (id: bigint, record = `plant ${id}`) => put(id, record),
    delete: (id: bigint) => put(id, undefined),
  };
}

/** Keeps what happens. */
export function recordingObserver() {
  const setbacks: Setback[] = [];
  const interruptions: unknown[] = [];
  let delivered = 0;
  const observer: DeliveryObserver = {
    delivered: (_, plants) => {
      delivered += plants;
    },
    failed: (_, setback) => setbacks.push(setback),
    interrupted: (_, error) => interruptions.push(error),
  };
  return { observer, setbacks, interruptions, delivered: () => delivered };
}
