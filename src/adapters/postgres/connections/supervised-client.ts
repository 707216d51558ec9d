import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult as KyselyResult,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import type { ClientBase, PoolClient, QueryConfig, QueryResult } from 'pg';
import type { NamedQuery } from '../../sql/statement.ts';
import { explainInternalError } from '../citus.ts';
import { failureOf, UnknownOutcomeError } from '../failures.ts';
import type { abandonedStatements } from './abandoned-statements.ts';

/** A connection of the pool, as Kysely uses it. */
interface SupervisedClient extends DatabaseConnection {
  /** As performance.now() counts. */
  readonly openedAt: number;
  /** Returns it to the pool, or closes it if it is broken. */
  release(): void;
}

/** The pool's part in supervising a statement. */
interface Supervisor {
  /** Milliseconds until a statement without a response is abandoned; 0 for no deadline. */
  readonly deadline: number;
  /** As that of abandonedStatements. */
  readonly tryAbandon: ReturnType<typeof abandonedStatements>['tryAdd'];
  /** Stops the use of connections opened before this time. */
  invalidateOpenedBefore(time: number): void;
  /** Whether named statements are prepared on direct connections: no longer, once a pooler has passed for the server. */
  mayPrepare: boolean;
}

/** The function of Postgres whose warnings say that a commit has stopped waiting for its synchronous standby. */
const SYNC_WAIT = 'SyncRepWaitForLSN';

/**
 * A client for Kysely that closes a broken connection. It is made once for each connection, since objects made for each
 * statement outlive the statement. At its deadline it only stops waiting and closes the connection: it never sends a cancel
 * request, with which a commit that waits for its synchronous standby would report success.
 *
 * @param isDirect whether it leads to the server without a pooler in between
 */
export function supervised(client: ClientBase, isDirect: boolean, supervisor: Supervisor): SupervisedClient {
  const openedAt = performance.now();
  let isBroken = false;
  /** Whether the commit of the last statement may not be on the synchronous standby. */
  let isUnconfirmed = false;

  client.on('notice', ({ routine }) => {
    if (routine === SYNC_WAIT) isUnconfirmed = true;
  });

  const send = (query: QueryConfig): Promise<QueryResult> => withinDeadline(queried(client, query), supervisor);

  async function executeQuery<Row>({ sql: text, parameters, name }: NamedQuery): Promise<KyselyResult<Row>> {
    const sent = performance.now();
    isUnconfirmed = false;
    try {
      const prepared = isDirect && supervisor.mayPrepare ? name : undefined;
      const { rows } = await send({ text, values: parameters as unknown[], name: prepared });
      if (isUnconfirmed)
        throw new UnknownOutcomeError('unconfirmed', 'the commit may not be on the synchronous standby');
      return { rows };
    } catch (thrown) {
      const error = await explained(thrown);
      const { breaksConnection, isPreparedElsewhere, invalidatesOlderConnections } = failureOf(error);
      if (breaksConnection) isBroken = true;
      if (isPreparedElsewhere) supervisor.mayPrepare = false;
      if (invalidatesOlderConnections) supervisor.invalidateOpenedBefore(sent);
      throw error;
    }
  }

  /** The error with its cause, where the driver's or the server's own is ambiguous. */
  async function explained(thrown: unknown): Promise<unknown> {
    if (thrown instanceof UnknownOutcomeError) return thrown;
    if (failureOf(thrown).state !== undefined) return explainInternalError(thrown, (text) => send({ text }));
    // A value that pg cannot encode, for example.
    if (thrown instanceof TypeError) return thrown;
    // An error that is not Postgres's own is pg's, of a connection that is lost or breaks the protocol.
    return new UnknownOutcomeError('lost_connection', (thrown as Error).message, { cause: thrown });
  }

  return {
    openedAt,
    executeQuery,
    streamQuery() {
      throw new TypeError('no statement is streamed');
    },
    release() {
      // The pool has made the client by now, and closes it if it is broken.
      (client as PoolClient).release(isBroken);
    },
  };
}

/**
 * Sends by pg's callback: with the promises that pg makes itself, the statement and its result outlive the next collection of
 * V8's young generation (docs/performance.md).
 */
function queried(client: ClientBase, query: QueryConfig): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    client.query(query, (error, result) => (error ? reject(error) : resolve(result)));
  });
}

/** @throws UnknownOutcomeError at the deadline, or later if the supervisor does not allow that yet */
async function withinDeadline<T>(response: Promise<T>, { deadline, tryAbandon }: Supervisor): Promise<T> {
  if (deadline === 0) return response;
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setInterval(() => {
    if (!tryAbandon()) return;
    clearInterval(timer);
    reject(new UnknownOutcomeError('no_response', `no response from Postgres within ${deadline} ms`));
  }, deadline);
  try {
    return await Promise.race([response, overdue]);
  } finally {
    clearInterval(timer);
  }
}

/**
 * Kysely's own driver for pg returns every connection to the pool as healthy. The pool is closed without Kysely, for which a
 * statement after its own end is a defect.
 */
export function kyselyDialect(acquire: () => Promise<SupervisedClient>): Dialect {
  const run = (text: string) => async (connection: DatabaseConnection) => {
    await connection.executeQuery(CompiledQuery.raw(text));
  };
  return {
    createDriver: () => ({
      init: async () => {},
      acquireConnection: acquire,
      // Kysely returns the connection that `acquire` gave it.
      releaseConnection: async (connection) => (connection as SupervisedClient).release(),
      beginTransaction: run('begin'),
      commitTransaction: run('commit'),
      rollbackTransaction: run('rollback'),
      destroy: async () => {},
    }),
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (database) => new PostgresIntrospector(database),
  };
}
