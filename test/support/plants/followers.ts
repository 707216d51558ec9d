import { setTimeout as delay } from 'node:timers/promises';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { apiClient } from '../api-client.ts';
import { consumer, pagesOver } from './changes.ts';

/** A consumer of the feed of an instance, that goes on until it is stopped, whatever happens to the database. */
export interface RunningFollower {
  readonly copy: ReadonlyMap<bigint, NewPlant>;
  /** How often it had to start again. */
  restarts(): number;
  /** Ends it. @throws RangeError at a response that must not be */
  stop(): Promise<void>;
}

/** Milliseconds until a request is repeated that got 503 or no response. */
const PAUSE = 100;

export function startFollower(url: string): RunningFollower {
  const client = apiClient(url);
  const one = consumer();
  const read = pagesOver(() => client, 1);
  let isStopped = false;

  async function run(): Promise<void> {
    while (!isStopped) {
      await one.step(read, 100).catch(async (error) => {
        if (error instanceof RangeError) throw error;
        await delay(PAUSE);
      });
    }
  }

  const done = run();
  // Reported by stop.
  done.catch(() => {});
  return {
    get copy() {
      return one.copy;
    },
    restarts: one.restarts,
    async stop() {
      isStopped = true;
      await done.finally(client.close);
    },
  };
}
