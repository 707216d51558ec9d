import { Client, type ClientBase, type ClientConfig, type QueryConfig } from 'pg';
import { classify, connectionError } from './errors.ts';
import { addressOf } from './url.ts';

/**
 * Requires a session that can write, as libpq does for target_session_attrs=read-write.
 *
 * @param timeout milliseconds to wait for the response
 * @throws Error if it cannot, which most often means that the server is a standby
 */
export async function requireReadWrite(client: ClientBase, timeout: number): Promise<void> {
  // Not in pg's types for one query.
  const query: QueryConfig & ClientConfig = { text: 'show transaction_read_only', query_timeout: timeout };
  const { rows } = await client.query(query);
  if (rows[0]?.transaction_read_only !== 'off') throw new Error('the server is read-only');
}

/** Opens a connection; if that fails for a moment, once more, after another host has been found. */
type OnPrimary = <T>(connect: () => Promise<T>) => Promise<T>;

/**
 * Keeps new connections on the host that takes writes. The first host is used first.
 *
 * @param urls one for each host
 * @param config how to connect, including timeouts in milliseconds
 * @param onChange called with the URL of another host, and with why the one before failed
 */
export function primaryAmong(
  urls: readonly [string, ...string[]],
  config: () => ClientConfig,
  onChange: (url: string, failure: unknown) => void,
): OnPrimary {
  let [current] = urls;
  /** Concurrent callers share one search. */
  let changing: Promise<void> | undefined;

  async function change(failure: unknown): Promise<void> {
    try {
      current = await nextPrimary(urls, current, failure, config());
    } finally {
      changing = undefined;
    }
    onChange(current, failure);
  }

  return async (connect) => {
    const tried = current;
    try {
      return await connect();
    } catch (error) {
      if (classify(error) !== 'transient') throw error;
      if (tried === current) {
        changing ??= change(error);
        await changing;
      }
      return connect();
    }
  };
}

/**
 * Tries the hosts that come after one that has failed, in turn, each once.
 *
 * @param urls one for each host
 * @param current the URL of the host that has failed
 * @param config how to connect, including timeouts in milliseconds
 * @returns the first URL whose host takes writes
 * @throws Error that names the failure of each host. As in libpq, a host that responds but refuses the user or the
 * database is not passed over: that is a mistake to fix.
 */
async function nextPrimary(
  urls: readonly string[],
  current: string,
  failure: unknown,
  config: ClientConfig,
): Promise<string> {
  const failures = [failureAt(current, failure)];
  const index = urls.indexOf(current);
  for (const url of [...urls.slice(index + 1), ...urls.slice(0, index)]) {
    try {
      await tryHost({ ...config, connectionString: url });
      return url;
    } catch (thrown) {
      const error = connectionError(thrown);
      failures.push(failureAt(url, error));
      if (classify(error) !== 'transient') throw Object.assign(error as Error, { message: failures.join('; ') });
    }
  }
  throw connectionError(new Error(failures.join('; ')));
}

function failureAt(url: string, error: unknown): string {
  return `${addressOf(url)}: ${(error as Error).message}`;
}

async function tryHost(config: ClientConfig): Promise<void> {
  // Without these start-up parameters, since PgBouncer may refuse them.
  const client = new Client({ ...config, statement_timeout: 0, lock_timeout: 0 });
  client.on('error', () => {});
  try {
    await client.connect();
    await requireReadWrite(client, config.connectionTimeoutMillis ?? 0);
  } finally {
    client.end().catch(() => {});
  }
}
