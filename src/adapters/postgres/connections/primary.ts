import type { Client, ClientBase, ClientConfig, QueryConfig } from 'pg';
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

/**
 * JIT compilation does not pay for statements as short as these, but on large tables the planner would choose it: it takes
 * a limit that it does not know for a tenth of the rows. Behind PgBouncer, the role's own setting applies (docs/postgres.md).
 */
const BEGIN = `select pg_backend_pid() as backend, current_setting('transaction_read_only') = 'on' as "isReadOnly",
  set_config('jit', 'off', false)`;

/**
 * Checks a new connection.
 *
 * @param timeout milliseconds to wait for the response
 * @param mustWrite whether it must be able to write, as libpq requires for target_session_attrs=read-write
 * @returns the process id of its backend, which behind PgBouncer may be another one for each statement
 * @throws Error if it cannot write, which most often means that the server is a standby
 */
export async function beginSession(client: ClientBase, timeout: number, mustWrite: boolean): Promise<number> {
  // The timeout is not in pg's types for one query.
  const query: QueryConfig & ClientConfig = { text: BEGIN, query_timeout: timeout };
  const { rows } = await client.query<{ backend: number; isReadOnly: boolean }>(query);
  const [session] = rows;
  if (session === undefined || (mustWrite && session.isReadOnly)) throw new Error('the server is read-only');
  return session.backend;
}
