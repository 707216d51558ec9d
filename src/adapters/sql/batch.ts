import { PlantStoreError } from '../../domain/errors.ts';

export interface BatchOptions {
  /** The largest size of a list, though a single item may exceed it; 256 by default. */
  readonly maxSize?: number;
  /** Lists that the store has at once, at most. */
  readonly maxRunning: number;
  /** Milliseconds until an item is abandoned. */
  readonly timeout: number;
}

/** A caller that waits for the outcome of an item. The outcomes of the items of a list may come in any order. */
export interface Call<Item, Result> {
  readonly item: Item;
  /** When the item is abandoned, as performance.now() counts. The last one of a list has the latest time. */
  readonly until: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A second list starts beside a running one when at least `min` items wait, and `times` as many as the running list has. The
 * service handles the requests of one list while the other one runs. With `times: 1`, lists would stay short.
 */
const SECOND_LIST = { times: 2, min: 16 };

/** After this time a running list counts as slow, and the next one starts beside it. */
const SLOW_LIST_MS_MIN = 10;

/** The time between checks for slow lists and for items whose time is over, while any has no outcome. */
const CHECK_INTERVAL_MS = 50;

/** One error for all: under overload, thousands are rejected with it. */
const TIMED_OUT = new PlantStoreError('store_unavailable', 'the store has not responded in time');

/**
 * Collects items that arrive one by one into lists: one statement and one commit for all that arrived meanwhile. Items that
 * arrive while a list runs form the next one, which starts when the running one is done or slow. It also starts beside one
 * running list as SECOND_LIST says, and beside several once it is full. So an item starts at once if no list is running, no
 * item waits for a list to fill, and lists grow with the load.
 *
 * @param run runs a list. It calls `take` once it can start, and each call returns the same list. It settles every item, and
 * resolves when the next list may start
 * @param sizeOf returns the size of an item; 1 by default
 * @returns a function that rejects with PlantStoreError `store_unavailable` if an item has no outcome in time
 */
export function batch<Item, Result>(
  run: (take: () => readonly Call<Item, Result>[]) => Promise<void>,
  { maxSize = 256, maxRunning, timeout }: BatchOptions,
  sizeOf: (item: Item) => number = () => 1,
): (item: Item) => Promise<Result> {
  let queue: Call<Item, Result>[] = [];
  /** In the order of their deadlines, whatever has become of their lists. */
  const openCalls = new Set<Call<Item, Result>>();
  const lists = new Set<readonly Call<Item, Result>[]>();
  let newestStart = 0;
  let checks: NodeJS.Timeout | undefined;

  function startLists(): void {
    while (queue.length > 0 && mayStart()) {
      newestStart = performance.now();
      void runList();
    }
  }

  async function runList(): Promise<void> {
    const list: Call<Item, Result>[] = [];
    lists.add(list);
    try {
      await run(() => {
        if (list.length === 0) list.push(...takeList());
        return list;
      });
    } catch (error) {
      for (const { reject } of list) reject(error);
    }
    // Before the callers go on.
    lists.delete(list);
    startLists();
  }

  function mayStart(): boolean {
    const [first] = lists;
    if (first === undefined) return true;
    if (lists.size >= maxRunning) return false;
    const minSize = lists.size === 1 ? Math.max(SECOND_LIST.min, SECOND_LIST.times * first.length) : maxSize;
    return queue.length >= Math.min(minSize, maxSize) || performance.now() - newestStart > SLOW_LIST_MS_MIN;
  }

  function takeList(): Call<Item, Result>[] {
    let count = 0;
    let size = 0;
    for (const { item } of queue) {
      size += sizeOf(item);
      if (count > 0 && size > maxSize) break;
      count++;
    }
    return queue.splice(0, count);
  }

  function check(): void {
    const now = performance.now();
    for (const { until, reject } of openCalls) {
      if (until > now) break;
      reject(TIMED_OUT);
    }
    queue = queue.filter(({ until }) => until > now);
    startLists();
    if (openCalls.size > 0) return;
    clearInterval(checks);
    checks = undefined;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const call: Call<Item, Result> = {
        item,
        until: performance.now() + timeout,
        resolve(result) {
          openCalls.delete(call);
          resolve(result);
        },
        reject(error) {
          openCalls.delete(call);
          reject(error);
        },
      };
      openCalls.add(call);
      queue.push(call);
      checks ??= setInterval(check, CHECK_INTERVAL_MS);
      startLists();
    });
}
