import { Client, type ClientConfig } from 'pg';

/** Statements whose connection was closed before there was a response. */
interface AbandonedStatements {
  /** Asks whether one more may be abandoned; if so, it is counted. */
  mayAdd(): Promise<boolean>;
  /** From now on there is always room: the service ends. */
  allowAll(): void;
}

/**
 * Bounds how many statements may still run in Postgres though their connection was closed. A backend that waits for its
 * synchronous standby does not notice that, nor does one that waits for a lock without a limit, so closing and connecting
 * anew for as long as they wait would use up all of the server's connections. Once there is no room by this side's count,
 * the server is asked: what no longer waits there, or is on a server that is gone, counts no more.
 *
 * @param most how many there may be
 * @param ownBackends the process ids of the open connections' backends: these may wait as well, and are not abandoned.
 * Behind PgBouncer they are other numbers, so that all that wait count.
 * @param config how to connect to the server, in milliseconds what it may take
 */
export function abandonedStatements(
  most: number,
  ownBackends: () => readonly number[],
  config: () => ClientConfig,
): AbandonedStatements {
  let count = 0;
  let closing = false;
  let counting: Promise<void> | undefined;

  function isRoom(): boolean {
    return closing || count < most;
  }

  async function recount(): Promise<void> {
    try {
      count = await waitingBackends(config(), ownBackends());
    } catch {
      // Without the server there is nothing to connect to anew.
    } finally {
      counting = undefined;
    }
  }

  return {
    async mayAdd() {
      if (!isRoom()) {
        counting ??= recount();
        await counting;
      }
      if (!isRoom()) return false;
      count++;
      return true;
    },
    allowAll() {
      closing = true;
    },
  };
}

/** On a connection of its own, since all others may be waiting; those of other instances count as well. */
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
