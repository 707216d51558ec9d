import type { StoreCall } from './store-call.ts';

interface BatcherOptions<Item, Result> {
  /** Does one batch and resolves to each item's result, in the order of the items. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Whether a batch may have failed because of an item in it, so that each is worth trying alone. */
  readonly isWorthTryingAlone: (error: unknown) => boolean;
  /** How many items a batch may have. */
  readonly maxItems: number;
  /** How large the items of a batch may be together; one that is larger goes alone. */
  readonly maxSize: number;
  readonly sizeOf: (item: Item) => number;
  /** How many batches may run at once, should they be slow. */
  readonly maxRunning: number;
}

interface Entry<Item, Result> {
  readonly item: Item;
  readonly call: StoreCall;
  readonly alone: boolean;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Takes an item into a batch, unless its call has been given up before one takes it. */
export interface Batcher<Item, Result> {
  (item: Item, call: StoreCall): Promise<Result>;
  /** How many items no batch has taken yet. */
  waiting(): number;
}

/** Waiting items that are worth a second batch: while one runs, the calls of the other come in and go out. */
const WORTHWHILE = 16;

/** Milliseconds after which a running batch counts as slow: the next one starts beside it. */
const SLOW = 10;

/** Milliseconds between checks for slow batches while any batch runs. */
const CHECK_INTERVAL = 50;

/**
 * Gathers items: those that come while a batch runs make the next one, which starts when that is done or is slow; beside
 * one it also starts when it is worthwhile, and beside any number when it is full. So an item that finds nothing running
 * leaves at once, none waits for company, and batches grow with the load.
 *
 * @returns a function that resolves to the item's own result once its batch is done, and rejects with the batch's error
 */
export function batcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { run, isWorthTryingAlone, maxItems, maxSize, sizeOf, maxRunning } = options;
  let waiting: Entry<Item, Result>[] = [];
  let running = 0;
  let newestStart = 0;
  let checks: NodeJS.Timeout | undefined;

  function startBatches(): void {
    while (waiting.length > 0 && mayStart()) {
      running++;
      newestStart = performance.now();
      void settle(takeBatch());
    }
  }

  function mayStart(): boolean {
    if (running === 0) return true;
    if (running >= maxRunning) return false;
    const enough = running === 1 ? Math.min(WORTHWHILE, maxItems) : maxItems;
    return waiting.length >= enough || performance.now() - newestStart > SLOW;
  }

  function takeBatch(): Entry<Item, Result>[] {
    let count = 0;
    let size = 0;
    for (const { item, alone } of waiting) {
      size += sizeOf(item);
      if (count > 0 && (alone || size > maxSize || count === maxItems)) break;
      count++;
      if (alone) break;
    }
    return waiting.splice(0, count);
  }

  async function settle(batch: readonly Entry<Item, Result>[]): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      if (batch.length > 1 && isWorthTryingAlone(error)) {
        waiting = [...batch.map((entry) => ({ ...entry, alone: true })), ...waiting];
        dropGivenUp();
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
    running--;
    startBatches();
  }

  function dropGivenUp(): void {
    waiting = waiting.filter(({ call }) => call.isOpen);
  }

  function check(): void {
    dropGivenUp();
    startBatches();
    if (running > 0) return;
    clearInterval(checks);
    checks = undefined;
  }

  function add(item: Item, call: StoreCall): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    waiting.push({ item, call, alone: false, resolve, reject });
    checks ??= setInterval(check, CHECK_INTERVAL);
    startBatches();
    return promise;
  }
  return Object.assign(add, { waiting: () => waiting.length });
}
