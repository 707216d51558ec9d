import { type Delivery, deliverToEndpoint, sleep } from './deliver-to-endpoint.ts';
import { type KeepPositions, type Lease, SEND_MS_MAX } from './ports.ts';

/** Milliseconds for which a lease holds. After a kill, another instance takes over once they have passed. */
const LEASE_MS = 30_000;

/** Milliseconds between the times at which leases are taken and renewed. */
const RENEWAL_INTERVAL_MS = 5_000;

/** The delivery to one endpoint. */
interface Task {
  /** The lease with the stored position. */
  lease: Lease;
  /** When the lease ends, as performance.now() counts: never later than by the clock of the store. */
  until: number;
  end(): void;
  readonly done: Promise<void>;
}

/**
 * Delivers new and changed plants to each endpoint, in the order of the feed, until the signal. The newest state of each
 * plant is delivered at least once. Only one instance delivers to an endpoint at a time. It never rejects.
 */
export async function deliverWebhooks(
  delivery: Delivery & { readonly positions: KeepPositions },
  stop: AbortSignal,
): Promise<void> {
  const { positions, observer } = delivery;
  const tasks = new Map<string, Task>();
  const leases = () => [...tasks.values()].map(({ lease }) => lease);

  while (!stop.aborted) {
    await renewAll().catch(observer.interrupted);
    await sleep(RENEWAL_INTERVAL_MS, stop);
  }
  const lastLeases = leases();
  await Promise.all([...tasks.values()].map(({ done }) => done));
  await positions.release(lastLeases).catch(observer.interrupted);

  async function renewAll(): Promise<void> {
    const until = performance.now() + LEASE_MS;
    for (const [endpoint, outcome] of await positions.take(leases(), LEASE_MS)) {
      const task = tasks.get(endpoint);
      if (outcome !== 'renewed') task?.end();
      else if (task !== undefined) task.until = until;
      if (typeof outcome === 'object') begin(outcome, until);
    }
  }

  /** Begins to deliver once an earlier task of the endpoint, whose lease was lost, has ended. */
  function begin(lease: Lease, until: number): void {
    const { endpoint } = lease;
    const previousTask = tasks.get(endpoint);
    const abort = new AbortController();
    const signal = AbortSignal.any([stop, abort.signal]);
    // What is sent must end before the lease does.
    const mayBegin = () => !signal.aborted && performance.now() + SEND_MS_MAX <= task.until;
    const done = Promise.resolve(previousTask?.done)
      .then(() => deliverToEndpoint(delivery, lease, mayBegin, signal, (newLease) => (task.lease = newLease)))
      .finally(() => {
        // At shutdown, all leases that are still held are released together.
        if (tasks.get(endpoint) === task && !stop.aborted) tasks.delete(endpoint);
      });
    const task: Task = { lease, until, end: () => abort.abort(), done };
    tasks.set(endpoint, task);
  }
}
