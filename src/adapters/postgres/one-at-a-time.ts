import type { StoreCall } from './store-call.ts';

/**
 * Lets works with the same key run one after another, in the order in which they came.
 *
 * @returns a function that does the work, unless its call times out first
 */
export function oneAtATime<Key>() {
  const last = new Map<Key, Promise<unknown>>();

  return async function inOrder<T>(key: Key, call: StoreCall, work: () => Promise<T>): Promise<T | undefined> {
    const before = last.get(key);
    const mine = before === undefined ? work() : before.then(() => (call.isOpen ? work() : undefined));
    const settled = mine.catch(() => {});
    last.set(key, settled);
    try {
      return await mine;
    } finally {
      if (last.get(key) === settled) last.delete(key);
    }
  };
}
