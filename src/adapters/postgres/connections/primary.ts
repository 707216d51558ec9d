import type { Client } from 'pg';
import { classify } from '../failures.ts';
import { addressOf } from './url.ts';

/**
 * Keeps new connections on the host that takes writes.
 *
 * @param urls one for each host
 * @param onChange called with the URL of another host that takes writes, and with why the one before failed
 */
export function primaryAmong(urls: readonly [string, ...string[]], onChange: (url: string, failure: unknown) => void) {
  let current = 0;
  let confirmed = 0;
  let lastFailure: unknown;
  const url = (index: number) => urls[index] as string;

  return {
    /** The URL of the host for new connections; the first one at first. */
    url: () => url(current),
    /**
     * Opens a connection; after a transient failure at the next host, at each one once.
     *
     * @throws the last host's error, whose message names the failure of each one. As in libpq, a host that responds but
     * refuses the user or the database is not passed over: that is a mistake to fix.
     */
    async connect<T>(open: () => Promise<T>): Promise<T> {
      const failures: string[] = [];
      for (;;) {
        const tried = current;
        try {
          return await open();
        } catch (error) {
          if (urls.length === 1) throw error;
          const { message } = error as Error;
          failures.push(`${addressOf(url(tried))}: ${message}`);
          // Also if no connection became free in time, perhaps because the host is silent: the next one is a standby then.
          const isPassedOver = classify(error) === 'transient';
          // Unless another caller has done so.
          if (isPassedOver && tried === current) {
            current = (current + 1) % urls.length;
            lastFailure = error;
          }
          if (isPassedOver && failures.length < urls.length) continue;
          throw Object.assign(error as Error, { message: failures.join('; ') });
        }
      }
    },
    /** Takes a new connection, which can write, for the host to be used. @throws Error if that is another one by now */
    confirm({ host, port }: Client): void {
      if (`${host}:${port}` !== addressOf(url(current))) throw new Error('another host of the database is used by now');
      if (confirmed === current) return;
      confirmed = current;
      onChange(url(current), lastFailure);
    },
  };
}
