import type { PoolClient, QueryResult } from 'pg';
import { connectionError, discreditsOthers, NoResponseError, spoilsConnection, UnconfirmedError } from './errors.ts';

/** A connection of the pool, and what has been seen of it. */
export interface Connection {
  readonly client: PoolClient;
  /** Of its backend, or PgBouncer's own number. */
  readonly processId: number;
  /** As performance.now() counts. */
  readonly openedAt: number;
  isLost: boolean;
  /** Whether the server has sent a warning since the last statement began. */
  isWarned: boolean;
}

/** What one statement means to the other connections of its pool. */
export interface Supervisor {
  /** Milliseconds until a statement without a response is given up; 0 for none. */
  readonly deadline: number;
  /** Asks to close a connection whose statement has no response; false if too many of them are still running. */
  mayAbandon(): Promise<boolean>;
  /** Connections opened before this time are not to be used again. */
  distrust(sent: number): void;
  /** Closes a connection that is not to be used again. */
  discard(client: PoolClient): void;
}

/** The SQLSTATE of a plain warning. */
const WARNING = '01000';

/** Notes what the driver reports of a connection outside of its statements, for as long as it is open. */
export function observed(client: PoolClient): Connection {
  // Not in pg's types.
  const { processID: processId } = client as unknown as { processID: number };
  const connection = { client, processId, openedAt: performance.now(), isLost: false, isWarned: false };
  client.on('notice', ({ code }) => {
    if (code === WARNING) connection.isWarned = true;
  });
  // Before the statement that it was running fails.
  client.on('error', () => {
    connection.isLost = true;
  });
  return connection;
}

/**
 * A client as Kysely uses it, which closes a connection that can no longer be trusted: Kysely gives every one back as
 * healthy.
 *
 * It never cancels: a cancel request that meets a commit waiting for its synchronous standby ends that wait with
 * success. The server's own limits end what runs; the deadline here only stops waiting, and closes the connection.
 */
export function supervised(connection: Connection, supervisor: Supervisor) {
  const { client } = connection;
  let isSpoiled = false;

  async function query(sql: string, parameters: unknown[]): Promise<QueryResult> {
    const sent = performance.now();
    connection.isWarned = false;
    try {
      const result = await withinDeadline(client.query(sql, parameters), supervisor);
      requireConfirmed(result, connection);
      return result;
    } catch (thrown) {
      const error = connection.isLost ? connectionError(thrown) : thrown;
      if (spoilsConnection(error)) isSpoiled = true;
      if (discreditsOthers(error)) supervisor.distrust(sent);
      throw error;
    }
  }

  return { query, release: () => (isSpoiled ? supervisor.discard(client) : client.release()) };
}

/** @throws NoResponseError at the deadline, or later if the supervisor does not let it be abandoned before */
async function withinDeadline<T>(response: Promise<T>, { deadline, mayAbandon }: Supervisor): Promise<T> {
  if (deadline === 0) return response;
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setInterval(async () => {
    if (await mayAbandon()) reject(new NoResponseError(`no response from Postgres within ${deadline} ms`));
  }, deadline);
  try {
    return await Promise.race([response, overdue]);
  } finally {
    clearInterval(timer);
  }
}

/**
 * An administrator who cancels a commit that waits for its synchronous standby makes Postgres report success, with a
 * warning. An insert that stored nothing has no commit to wait for; its warnings are a trigger's.
 */
function requireConfirmed(result: QueryResult, { isWarned }: Connection): void {
  if (!isWarned || (result.command === 'INSERT' && result.rowCount === 0)) return;
  throw new UnconfirmedError('Postgres warned that the commit may not be on the synchronous standby');
}
