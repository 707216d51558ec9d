import { batcher } from './batcher.ts';
import type { StoreCall } from './store-call.ts';

/** Does the work when it is its turn, unless its call times out first. */
export type InTurn = <T>(work: () => Promise<T>, call: StoreCall) => Promise<T>;

/**
 * Lets few statements of a kind run at once, so that they leave connections to others.
 *
 * @param maxRunning how many
 * @param pause resolves before each of them
 */
export function turns(maxRunning: number, pause?: () => Promise<void> | undefined): InTurn {
  const inTurn = batcher<() => Promise<void>, void>({
    async run([work]) {
      await pause?.();
      await work?.();
      return [undefined];
    },
    shouldRetryAlone: () => false,
    maxItems: 1,
    maxSize: 1,
    sizeOf: () => 1,
    maxRunning,
  });
  return (work, call) =>
    new Promise((resolve, reject) => {
      inTurn(async () => resolve(await work()), call).catch(reject);
    });
}
