import { Client, type ClientConfig } from 'pg';

/** Statements whose connection was closed before their response. */
interface AbandonedStatements {
  /** Counts one more abandoned statement; false, without counting it, if the limit is reached. */
  tryAdd(): Promise<boolean>;
  /** Lifts the limit, for shutdown. */
  allowAll(): void;
}

/**
 * Bounds how many statements may still run in Postgres after their connection was closed. A backend that waits for its
 * synchronous standby, or for a lock without a timeout, does not notice the close, so repeated closing and reconnecting
 * would use up all of the server's connections. When the local count reaches the limit, the server's count replaces it:
 * statements that have ended, or whose server is gone, no longer count.
 *
 * @param limit how many there may be
 * @param ownBackends the process ids of the open connections' backends, which may also wait but are not abandoned.
 * Behind PgBouncer these ids match no backend, so every waiting backend counts.
 * @param config how to connect to the server, including timeouts in milliseconds
 */
export function abandonedStatements(
  limit: number,
  ownBackends: () => readonly number[],
  config: () => ClientConfig,
): AbandonedStatements {
  let count = 0;
  let closing = false;
  let counting: Promise<void> | undefined;

  function isBelowLimit(): boolean {
    return closing || count < limit;
  }

  async function recount(): Promise<void> {
    try {
      count = await waitingBackends(config(), ownBackends());
    } catch {
      // The server is gone, so reconnecting cannot use up its connections.
    } finally {
      counting = undefined;
    }
  }

  return {
    async tryAdd() {
      if (!isBelowLimit()) {
        counting ??= recount();
        await counting;
      }
      if (!isBelowLimit()) return false;
      count++;
      return true;
    },
    allowAll() {
      closing = true;
    },
  };
}

/** Counts on a separate connection, since all others may be waiting. Includes the backends of other instances. */
async function waitingBackends(config: ClientConfig, except: readonly number[]): Promise<number> {
  const client = new Client(config);
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query(
      `select count(*) as waiting from pg_stat_activity
       where usename = current_user and datname = current_database()
         and application_name = current_setting('application_name')
         and (wait_event = 'SyncRep' or wait_event_type = 'Lock') and pid <> all($1)`,
      [except],
    );
    return Number(rows[0]?.waiting);
  } finally {
    client.end().catch(() => {});
  }
}
