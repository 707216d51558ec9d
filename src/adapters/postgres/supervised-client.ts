import type { PoolClient, QueryResult } from 'pg';
import { mayBeLostNode } from './citus.ts';
import {
  breaksConnection,
  connectionError,
  invalidatesOlderConnections,
  LostNodeError,
  NoResponseError,
  UnconfirmedError,
} from './errors.ts';

/** A connection of the pool and its observed state. */
export interface Connection {
  readonly client: PoolClient;
  /** Its backend's process id, or PgBouncer's own number. */
  readonly processId: number;
  /** As performance.now() counts. */
  readonly openedAt: number;
  isLost: boolean;
  /** Whether the server has sent a warning since the last statement began. */
  isWarned: boolean;
}

/** The pool's part in supervising a statement. */
export interface Supervisor {
  /** Milliseconds until a statement without a response is abandoned; 0 for no deadline. */
  readonly deadline: number;
  /** Counts a statement without a response as abandoned; false if too many abandoned ones are still running. */
  tryAbandon(): Promise<boolean>;
  /** Stops the use of connections opened before this time. */
  invalidateOpenedBefore(time: number): void;
  /** Closes a connection instead of returning it to the pool. */
  discard(client: PoolClient): void;
}

/** The SQLSTATE of a plain warning. */
const WARNING = '01000';

/** Tracks what the driver reports about a connection outside of its statements, for as long as it is open. */
export function observed(client: PoolClient): Connection {
  // Not in pg's types.
  const { processID: processId } = client as unknown as { processID: number };
  const connection = { client, processId, openedAt: performance.now(), isLost: false, isWarned: false };
  client.on('notice', ({ code }) => {
    if (code === WARNING) connection.isWarned = true;
  });
  // Emitted before the running statement fails.
  client.on('error', () => {
    connection.isLost = true;
  });
  return connection;
}

/**
 * A client for Kysely that closes a broken connection: Kysely itself returns every one to the pool as healthy.
 *
 * It never sends a cancel request: a commit that waits for its synchronous standby would then report success. The
 * server's own limits cancel statements; the deadline here only stops waiting and closes the connection.
 */
export function supervised(connection: Connection, supervisor: Supervisor) {
  const { client } = connection;
  let isBroken = false;

  const send = (sql: string, parameters: unknown[] = []): Promise<QueryResult> =>
    withinDeadline(client.query(sql, parameters), supervisor);

  async function query(sql: string, parameters: unknown[]): Promise<QueryResult> {
    const sent = performance.now();
    connection.isWarned = false;
    try {
      const result = await send(sql, parameters);
      requireConfirmed(result, connection);
      return result;
    } catch (thrown) {
      const error = await explained(thrown);
      if (breaksConnection(error)) isBroken = true;
      if (invalidatesOlderConnections(error)) supervisor.invalidateOpenedBefore(sent);
      throw error;
    }
  }

  /** The error with its cause, where the driver's or the server's own is ambiguous. */
  async function explained(thrown: unknown): Promise<unknown> {
    // It cannot be asked in a transaction that has failed, as in migrations.
    const isLostNode = await mayBeLostNode(thrown, send).catch(() => false);
    if (connection.isLost) return connectionError(thrown);
    return isLostNode ? new LostNodeError((thrown as Error).message, { cause: thrown }) : thrown;
  }

  return { query, release: () => (isBroken ? supervisor.discard(client) : client.release()) };
}

/** @throws NoResponseError at the deadline, or later if the supervisor does not allow that yet */
async function withinDeadline<T>(response: Promise<T>, { deadline, tryAbandon }: Supervisor): Promise<T> {
  if (deadline === 0) return response;
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setInterval(async () => {
    if (await tryAbandon()) reject(new NoResponseError(`no response from Postgres within ${deadline} ms`));
  }, deadline);
  try {
    return await Promise.race([response, overdue]);
  } finally {
    clearInterval(timer);
  }
}

/**
 * If an administrator cancels a commit that waits for its synchronous standby, Postgres reports success with a warning.
 * An insert that stored nothing has no commit to wait for, so its warnings come from a trigger.
 */
function requireConfirmed(result: QueryResult, { isWarned }: Connection): void {
  if (!isWarned || (result.command === 'INSERT' && result.rowCount === 0)) return;
  throw new UnconfirmedError('Postgres warned that the commit may not be on the synchronous standby');
}
