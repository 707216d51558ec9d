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

/** A connection of the pool, as Kysely uses it. */
export interface SupervisedClient {
  /** Its backend's process id, or PgBouncer's own number. */
  readonly processId: number;
  /** As performance.now() counts. */
  readonly openedAt: number;
  query(sql: string, parameters: unknown[]): Promise<QueryResult>;
  /** Returns it to the pool, or closes it if it is broken or is to be destroyed. */
  release(destroy?: boolean): void;
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

/**
 * A client for Kysely that closes a broken connection: Kysely itself returns every one to the pool as healthy.
 *
 * It never sends a cancel request: a commit that waits for its synchronous standby would then report success. The
 * server's own limits cancel statements; the deadline here only stops waiting and closes the connection.
 *
 * One for each connection, made when it opens: Kysely keeps each client that it is given in a WeakMap, from which V8
 * removes only in a major garbage collection what was allocated for a request.
 */
export function supervised(client: PoolClient, supervisor: Supervisor): SupervisedClient {
  // Not in pg's types.
  const { processID: processId } = client as unknown as { processID: number };
  const openedAt = performance.now();
  let isBroken = false;
  let isLost = false;
  /** Whether the server has sent a warning since the last statement began. */
  let isWarned = false;

  client.on('notice', ({ code }) => {
    if (code === WARNING) isWarned = true;
  });
  // Emitted before the running statement fails.
  client.on('error', () => {
    isLost = true;
  });

  const send = (sql: string, parameters: unknown[] = []): Promise<QueryResult> =>
    withinDeadline(queried(client, sql, parameters), supervisor);

  async function query(sql: string, parameters: unknown[]): Promise<QueryResult> {
    const sent = performance.now();
    isWarned = false;
    try {
      const result = await send(sql, parameters);
      if (isWarned) requireConfirmed(result);
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
    if (isLost) return connectionError(thrown);
    return isLostNode ? new LostNodeError((thrown as Error).message, { cause: thrown }) : thrown;
  }

  return {
    processId,
    openedAt,
    query,
    release(destroy = false) {
      if (isBroken || destroy) supervisor.discard(client);
      else client.release();
    },
  };
}

/**
 * By pg's callback: with the promises that pg makes itself, the statement and its result outlive the next collection of
 * V8's young generation, so that with few requests most of the time of such a collection went into copying them.
 */
function queried(client: PoolClient, sql: string, parameters: unknown[]): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    client.query(sql, parameters, (error, result) => (error ? reject(error) : resolve(result)));
  });
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
 * For a result with a warning: if an administrator cancels a commit that waits for its synchronous standby, Postgres
 * reports success with one. An insert that stored nothing has no commit to wait for, so its warnings come from
 * a trigger.
 */
function requireConfirmed(result: QueryResult): void {
  if (result.command === 'INSERT' && result.rowCount === 0) return;
  throw new UnconfirmedError('Postgres warned that the commit may not be on the synchronous standby');
}
