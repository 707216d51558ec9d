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

interface Call<Item, Result> {
  readonly item: Item;
  /** As performance.now() counts. */
  readonly deadline: number;
  readonly alone: boolean;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  /** Whether it has no outcome yet. */
  open: boolean;
}

/** Takes an item into a batch. */
export interface Batcher<Item, Result> {
  (item: Item, deadline: number): Promise<Result>;
  /** How many calls no batch has taken yet. */
  waiting(): number;
}

/** A call that its deadline overtook; what became of it is unknown if its batch had started. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Waiting calls that are worth a second batch: while one runs, the calls of the other come in and go out. */
const WORTHWHILE = 16;

/** Milliseconds after which a running batch counts as slow: the next one starts beside it. */
const SLOW = 10;

/** Milliseconds between looks at deadlines and slow batches while any batch runs. */
const WATCH_INTERVAL = 50;

/**
 * Gathers calls: those that come while a batch runs make the next one, which starts when that is done or is slow; beside
 * one it also starts when it is worthwhile, and beside any number when it is full. So a call that finds nothing running
 * leaves at once, none waits for company, and batches grow with the load.
 *
 * @returns a function that resolves to the item's own result once its batch is done, and rejects with the batch's
 * error, or with DeadlineError at the deadline, in milliseconds as performance.now() counts
 */
export function batcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  type OpenCall = Call<Item, Result>;
  const { run, isWorthTryingAlone, maxItems, maxSize, sizeOf, maxRunning } = options;
  // No Set of calls: V8 links each table that a Set has outgrown to the next one, so that once one of them is old, all
  // calls ever since outlive the young generation's collections.
  let waiting: OpenCall[] = [];
  const running: (readonly OpenCall[])[] = [];
  let newestStart = 0;
  let watch: NodeJS.Timeout | undefined;

  function startBatches(): void {
    while (waiting.length > 0 && mayStart()) {
      const batch = takeBatch();
      running.push(batch);
      newestStart = performance.now();
      void settle(batch);
    }
  }

  function mayStart(): boolean {
    if (running.length === 0) return true;
    if (running.length >= maxRunning) return false;
    const enough = running.length === 1 ? Math.min(WORTHWHILE, maxItems) : maxItems;
    return waiting.length >= enough || performance.now() - newestStart > SLOW;
  }

  function takeBatch(): OpenCall[] {
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

  async function settle(batch: readonly OpenCall[]): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item));
      for (const [index, call] of batch.entries()) close(call).resolve(results[index] as Result);
    } catch (error) {
      if (batch.length > 1 && isWorthTryingAlone(error)) {
        const again = batch.filter(({ open }) => open).map((call) => ({ ...call, alone: true }));
        waiting = [...again, ...waiting];
      } else {
        for (const call of batch) close(call).reject(error);
      }
    }
    running.splice(running.indexOf(batch), 1);
    startBatches();
  }

  function close(call: OpenCall): OpenCall {
    call.open = false;
    return call;
  }

  /** Gives up what is overdue, and starts what waits behind a slow batch. */
  function look(): void {
    const now = performance.now();
    for (const call of [...running, waiting].flat()) {
      if (call.open && call.deadline <= now) close(call).reject(new DeadlineError('the deadline passed'));
    }
    waiting = waiting.filter(({ open }) => open);
    startBatches();
    if (running.length === 0) {
      clearInterval(watch);
      watch = undefined;
    }
  }

  function add(item: Item, deadline: number): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    waiting.push({ item, deadline, alone: false, resolve, reject, open: true });
    watch ??= setInterval(look, WATCH_INTERVAL);
    startBatches();
    return promise;
  }
  return Object.assign(add, { waiting: () => waiting.length });
}
