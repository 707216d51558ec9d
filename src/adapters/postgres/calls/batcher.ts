import { CALL_CLOSED } from '../errors.ts';
import type { CallState } from './store-call.ts';

interface BatcherOptions<Item, Result> {
  /** Runs one batch and resolves to each item's result, in the order of the items; single results may reject. */
  readonly run: (items: readonly Item[]) => Promise<readonly (Result | Promise<Result>)[]>;
  /** Whether a failure, of an item or of its whole batch, may be due to another item of the batch. */
  readonly mayBeAnothers: (error: unknown) => boolean;
  readonly maxItems: number;
  /** The total size of a batch's items; a larger item gets a batch of its own. */
  readonly maxSize?: number;
  readonly sizeOf?: (item: Item) => number;
  readonly maxRunning: number;
  /** Awaited before a batch takes its items, so that more can arrive. */
  readonly letRequestsArrive?: (() => Promise<void>) | undefined;
}

interface Entry<Item, Result> {
  readonly item: Item;
  readonly call: CallState;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Adds an item to a batch; rejects if its call times out first. */
export interface Batcher<Item, Result> {
  (item: Item, call: CallState): Promise<Result>;
  /** How many items are not in a batch yet. */
  waiting(): number;
  /** How many batches are running. */
  running(): number;
}

/**
 * How many items must wait for a second batch: `times` as many as the running one has, and `min` or more. While one
 * runs, the service handles the calls of the other. Batches of about the same size would be smaller on average.
 */
const SECOND_BATCH = { times: 2, min: 16 };

/** Milliseconds after which a running batch counts as slow, and the next one starts beside it. */
const SLOW_BATCH = 10;

/** A failed batch is repeated as so many smaller ones, and each of these that fails likewise, until an item is alone. */
const PARTS = 16;

/** Milliseconds between checks for slow batches while any batch runs. */
const CHECK_INTERVAL = 50;

/**
 * Collects items into batches. Items that arrive while a batch runs form the next batch, which starts when the running
 * batch is done or slow. Beside one running batch, the next one also starts once it has twice as many items; beside
 * several, once it is full. So an item starts at once, or after `letRequestsArrive`, if no batch is running, no item waits
 * for a batch to fill, and batches grow with the load.
 *
 * @returns a function that resolves to the item's own result, or rejects with its batch's error
 */
export function batcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { run, mayBeAnothers, maxItems, maxSize = 0, sizeOf = () => 0, maxRunning, letRequestsArrive } = options;
  let waiting: Entry<Item, Result>[] = [];
  let running = 0;
  let areRequestsArriving = false;
  let runningItems = 0;
  let newestStart = 0;
  let checks: NodeJS.Timeout | undefined;

  function startBatches(): void {
    while (waiting.length > 0 && !areRequestsArriving && mayStart()) {
      running++;
      newestStart = performance.now();
      void runBatch();
    }
  }

  async function runBatch(): Promise<void> {
    if (letRequestsArrive !== undefined) {
      areRequestsArriving = true;
      await letRequestsArrive();
      areRequestsArriving = false;
    }
    const batch = takeBatch();
    runningItems += batch.length;
    try {
      // Empty if all have timed out meanwhile.
      const results = batch.length > 0 ? await run(batch.map(({ item }) => item)) : [];
      if (results.length !== batch.length) throw new Error(`${results.length} results for ${batch.length} items`);
      for (const [index, entry] of batch.entries()) {
        const result = results[index] as Result | Promise<Result>;
        if (result instanceof Promise) result.then(entry.resolve, (error) => fail(entry, error, 1));
        else entry.resolve(result);
      }
    } catch (error) {
      const part = batch.length > 1 ? Math.ceil(batch.length / PARTS) : Number.POSITIVE_INFINITY;
      for (const entry of batch) fail(entry, error, part);
    }
    // Before the callers go on.
    running--;
    runningItems -= batch.length;
    startBatches();
  }

  function fail({ call, reject }: Entry<Item, Result>, error: unknown, maxShared: number): void {
    if (mayBeAnothers(error)) call.maxShared = Math.min(call.maxShared, maxShared);
    reject(error);
  }

  function mayStart(): boolean {
    if (running === 0) return true;
    if (running >= maxRunning) return false;
    const worthwhile = running === 1 ? Math.max(SECOND_BATCH.min, SECOND_BATCH.times * runningItems) : maxItems;
    return waiting.length >= Math.min(worthwhile, maxItems) || performance.now() - newestStart > SLOW_BATCH;
  }

  function takeBatch(): Entry<Item, Result>[] {
    let count = 0;
    let size = 0;
    let most = maxItems;
    for (const { item, call } of waiting) {
      size += sizeOf(item);
      most = Math.min(most, call.maxShared);
      if (count > 0 && (count >= most || size > maxSize)) break;
      count++;
    }
    return waiting.splice(0, count);
  }

  function dropClosed(): void {
    for (const { call, reject } of waiting) if (!call.isOpen) reject(CALL_CLOSED);
    waiting = waiting.filter(({ call }) => call.isOpen);
  }

  function check(): void {
    dropClosed();
    startBatches();
    if (running > 0) return;
    clearInterval(checks);
    checks = undefined;
  }

  function add(item: Item, call: CallState): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    waiting.push({ item, call, resolve, reject });
    checks ??= setInterval(check, CHECK_INTERVAL);
    startBatches();
    return promise;
  }
  return Object.assign(add, { waiting: () => waiting.length, running: () => running });
}
