import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Position } from '../../../src/application/ports.ts';
import type {
  DeliveryObserver,
  Entry,
  FailedAttempt,
  KeepPositions,
  Lease,
  LeaseOutcome,
  ReadEntries,
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

/** Endpoints in a store with a clock. Its feed has pages of 100. */
export function fakeStore(now: () => number, endpoints: readonly string[]) {
  const entries: Entry[] = [];
  const start = { position: { changed: 0n, id: 0n } as Position, holder: '', expires: 0, retryAt: 0, failingSince: 0 };
  const rows = new Map(
    endpoints.map((endpoint) => [endpoint, { ...start, setback: undefined as FailedAttempt | undefined }]),
  );
  const waiting: (() => void)[] = [];
  let leases = 0;
  let isAvailable = true;

  const whenAvailable = <T>(work: () => T) =>
    isAvailable ? Promise.resolve().then(work) : Promise.reject(new PlantStoreError('store_unavailable', 'not now'));
  const heldRow = ({ endpoint, holder }: Lease) => {
    const row = rows.get(endpoint);
    return row?.holder === holder ? row : undefined;
  };
  const isBefore = ({ changed }: Position) => entries.some((one) => one.changed > changed);

  const feed: ReadEntries = {
    readEntries: ({ changed }) =>
      whenAvailable(() => ({ epoch: 'epoch', entries: entries.filter((one) => one.changed > changed).slice(0, 100) })),
    async awaitEntries(after, signal) {
      while (!signal.aborted && !isBefore(after)) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
    },
  };
  const positions: KeepPositions = {
    take: (held, milliseconds) =>
      whenAvailable(() => {
        const outcomes = new Map<string, LeaseOutcome>();
        for (const endpoint of endpoints) {
          const row = rows.get(endpoint);
          if (row === undefined) {
            outcomes.set(endpoint, 'missing');
            continue;
          }
          const { position, setback } = row;
          const lease = held.find((one) => one.endpoint === endpoint);
          const isHeld = row.holder !== '' && row.holder === lease?.holder;
          const isSetBack = isHeld && position.changed < lease.position.changed;
          const isDue =
            isSetBack || (!setback?.isParked && row.retryAt <= now() && (row.holder === '' || row.expires < now()));
          if (isHeld && !isSetBack) outcomes.set(endpoint, 'renewed');
          else {
            if (lease !== undefined) outcomes.set(endpoint, 'lost');
            if (!isDue) continue;
            row.holder = `${++leases}`;
            const { failures } = setback ?? { failures: 0 };
            const failingFor = setback === undefined ? 0 : now() - row.failingSince;
            outcomes.set(endpoint, { endpoint, holder: row.holder, position, failures, failingFor });
          }
          row.expires = now() + milliseconds;
        }
        return outcomes;
      }),
    advance: (lease, { changed, id }) =>
      whenAvailable(() => {
        const row = heldRow(lease);
        if (row !== undefined) Object.assign(row, { position: { changed, id }, setback: undefined });
        return row !== undefined;
      }),
    fail: (lease, setback) =>
      whenAvailable(() => {
        const row = heldRow(lease);
        if (row === undefined) return;
        if (row.setback === undefined) row.failingSince = now();
        Object.assign(row, { holder: '', setback, retryAt: now() + setback.retryIn });
      }),
    release: (held) =>
      whenAvailable(() => {
        for (const lease of held) {
          const row = heldRow(lease);
          if (row !== undefined) row.holder = '';
        }
      }),
  };
  let lastChanged = 0n;
  /** The earlier state is gone then. */
  function put(id: bigint, name: string | undefined): void {
    const before = entries.findIndex((entry) => entry.id === id);
    if (before >= 0) entries.splice(before, 1);
    entries.push({ changed: ++lastChanged, id, plant: name === undefined ? undefined : { id, name } });
    for (const wake of waiting.splice(0)) wake();
  }
  return {
    feed,
    positions,
    /** @throws Error if it is gone */
    row(endpoint: string) {
      const row = rows.get(endpoint);
      if (row === undefined) throw new Error(`${endpoint} has no row`);
      return row;
    },
    /** Sets all back to an earlier state, as a promotion with loss does. */
    setBack(changed: bigint): void {
      lastChanged = changed;
      entries.splice(0, entries.length, ...entries.filter((entry) => entry.changed <= changed));
      for (const row of rows.values()) if (row.position.changed > changed) row.position = { changed, id: changed };
    },
    /** As after a restore to a time before it. */
    forget: (endpoint: string) => rows.delete(endpoint),
    setAvailable(available: boolean) {
      isAvailable = available;
    },
    write: (id: bigint, name = `plant ${id}`) => put(id, name),
    delete: (id: bigint) => put(id, undefined),
  };
}

/** Keeps what happens. */
export function recordingObserver() {
  const setbacks: FailedAttempt[] = [];
  const interruptions: unknown[] = [];
  const missing = new Set<string>();
  let delivered = 0;
  const observer: DeliveryObserver = {
    delivered: (_, plants) => {
      delivered += plants;
    },
    failed: (_, setback) => setbacks.push(setback),
    interrupted: (error) => {
      interruptions.push(error);
    },
    missing: (endpoint) => {
      missing.add(endpoint);
    },
  };
  return { observer, setbacks, interruptions, missing, delivered: () => delivered };
}
