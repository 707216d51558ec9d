import { Client, type ClientConfig } from 'pg';
import { sharedRun } from '../../feed/shared-run.ts';

/**
 * Bounds how many statements may still run in Postgres after their connection was closed (docs/decisions.md). When the local
 * count reaches the limit, the server's count replaces it: statements that have ended, or whose server is gone, no longer
 * count.
 *
 * @param open the process ids of the backends of open connections, which may wait but are not abandoned; `tryAdd` removes
 * its backend. Behind PgBouncer they match no backend, so every waiting backend counts.
 */
export function abandonedStatements(limit: number, open: Set<number>, config: () => ClientConfig) {
  let count = 0;
  let bound = limit;
  const recount = sharedRun(async () => {
    // Until the server can be asked, the limit holds.
    count = await waitingBackends(config(), [...open]).catch(() => count);
  });

  return {
    /**
     * Counts the statement of an open backend as abandoned; false, without counting it, if there are too many, or if it
     * has ended while the server was asked.
     */
    async tryAdd(backend: number, isWaiting: () => boolean): Promise<boolean> {
      if (count >= bound) await recount();
      if (count >= bound || !isWaiting()) return false;
      count++;
      // At once: a recount that begins before the connection is closed must find it.
      open.delete(backend);
      return true;
    },
    /** Lifts the limit, for shutdown. */
    allowAll(): void {
      bound = Number.POSITIVE_INFINITY;
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
