import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { execute } from '../../../tooling/execute.ts';
import type { Outage } from '../load-clients.ts';

/* Whether a database commits, without the service: what an operator would try by hand, again and again. */

export type Probe = Awaited<ReturnType<typeof startProbe>>;

/** Milliseconds between attempts. */
const INTERVAL = 25;
/** Attempts at once: each waits as long as its server does, and takes a connection. */
const ATTEMPTS = 20;

/** Begins to commit rows, each on a connection of its own. @param url of a database, which gets a table for them */
export async function startProbe(url: string) {
  await execute(url, 'create table if not exists probe (at timestamptz)');
  let last = performance.now();
  let longest: Outage = { from: last, to: last };
  let stopping = false;

  async function attempt(): Promise<void> {
    const client = new Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('insert into probe values (now())');
      const now = performance.now();
      if (now - last > longest.to - longest.from) longest = { from: last, to: now };
      last = Math.max(last, now);
    } catch {
      // The next one may succeed.
    } finally {
      client.end().catch(() => {});
    }
  }

  async function run(): Promise<void> {
    const running = new Set<Promise<void>>();
    while (!stopping) {
      if (running.size < ATTEMPTS) {
        const one = attempt();
        running.add(one);
        one.finally(() => running.delete(one));
      }
      await delay(INTERVAL);
    }
    await Promise.all(running);
  }

  const done = run();
  return {
    /** The longest time without a commit so far. */
    longestOutage: () => longest,
    async stop() {
      stopping = true;
      await done;
    },
  };
}
