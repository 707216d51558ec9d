import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  DummyDriver,
  type QueryResult as KyselyResult,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import type { ClientBase, PoolClient, QueryConfig, QueryResult } from 'pg';
import type { NamedQuery } from '../../sql/statement.ts';
import { failureOf, UnknownOutcomeError } from '../failures.ts';

/** A connection of the pool, as Kysely uses it. */
export interface SupervisedClient extends DatabaseConnection {
  /** When it was opened, as performance.now() counts. */
  readonly openedAt: number;
  /** Returns it to the pool, or closes it if it is broken. */
  release(): void;
}

/** What the pool provides to supervise statements. */
interface Supervisor {
  /** Milliseconds until a statement without a response is abandoned; 0 for no deadline. */
  readonly deadline: number;
  /** Counts a statement that may outlast its connection; false if there are too many (docs/adr/0006-no-cancel.md). */
  tryAbandon(): boolean;
  /** Stops the use of connections opened before this time. */
  invalidateOpenedBefore(time: number): void;
  /** Whether direct connections prepare named statements: false once a pooler was mistaken for the server. */
  mayPrepare: boolean;
}

/**
 * The function of Postgres whose warnings say that a commit has stopped waiting for its synchronous standby. Any other
 * warning, of a trigger or near transaction wraparound, says nothing about the commit.
 */
const SYNC_WAIT = 'SyncRepWaitForLSN';

/**
 * A client for Kysely that closes a broken connection. It is made once for each connection, since objects made for each
 * statement would outlive it. At its deadline it only closes the connection, and never sends a cancel request: a commit that
 * waits for its synchronous standby would then report success.
 *
 * @param isDirect whether it leads to the server without a pooler
 */
export function supervise(client: ClientBase, isDirect: boolean, supervisor: Supervisor): SupervisedClient {
  const openedAt = performance.now();
  let isBroken = false;
  /** Whether the commit of the last statement may not be on the synchronous standby. */
  let isUnconfirmed = false;

  client.on('notice', ({ routine }) => {
    if (routine === SYNC_WAIT) isUnconfirmed = true;
  });

  /**
   * Sends by pg's callback: with the promises of pg, the statement and its result would outlive the next collection of V8's
   * young generation (docs/performance.md).
   *
   * @throws UnknownOutcomeError at the deadline, or later if the supervisor does not allow that yet
   */
  const send = (query: QueryConfig): Promise<QueryResult> =>
    new Promise((resolve, reject) => {
      const { deadline, tryAbandon } = supervisor;
      const timer = deadline === 0 ? undefined : setInterval(abandon, deadline);
      function abandon() {
        if (!tryAbandon()) return;
        clearInterval(timer);
        reject(new UnknownOutcomeError('no_response', `no response from Postgres within ${deadline} ms`));
      }
      client.query(query, (error, result) => {
        clearInterval(timer);
        if (error) reject(error);
        else resolve(result);
      });
    });

  async function executeQuery<Row>({ sql: text, parameters, name }: NamedQuery): Promise<KyselyResult<Row>> {
    const start = performance.now();
    isUnconfirmed = false;
    try {
      const mayPrepare = isDirect && supervisor.mayPrepare;
      const { rows } = await send({ text, values: parameters as unknown[], name: mayPrepare ? name : undefined });
      if (isUnconfirmed)
        throw new UnknownOutcomeError('unconfirmed', 'the commit may not be on the synchronous standby');
      return { rows };
    } catch (cause) {
      const error = withReason(cause);
      const { breaksConnection, isPreparedElsewhere, invalidatesOlderConnections } = failureOf(error);
      if (breaksConnection) isBroken = true;
      if (isPreparedElsewhere) supervisor.mayPrepare = false;
      if (invalidatesOlderConnections) supervisor.invalidateOpenedBefore(start);
      throw error;
    }
  }

  return {
    openedAt,
    executeQuery,
    streamQuery() {
      throw new TypeError('no statement is streamed');
    },
    release() {
      // The pool has created the client by now, and closes it if it is broken.
      (client as PoolClient).release(isBroken);
    },
  };
}

/** Errors that Postgres did not send are pg's: a value cannot be encoded, or a connection is lost or violates the protocol. */
function withReason(error: unknown): unknown {
  const isClear =
    error instanceof UnknownOutcomeError || error instanceof TypeError || failureOf(error).state !== undefined;
  return isClear ? error : new UnknownOutcomeError('lost_connection', (error as Error).message, { cause: error });
}

/**
 * Kysely's own driver for pg returns every connection to the pool as healthy. The pool is closed without Kysely, which treats
 * a statement after its own end as a defect.
 */
export function kyselyDialect(acquire: () => Promise<SupervisedClient>): Dialect {
  const run = (text: string) => async (connection: DatabaseConnection) => {
    await connection.executeQuery(CompiledQuery.raw(text));
  };
  return {
    createDriver: () =>
      Object.assign(new DummyDriver(), {
        acquireConnection: acquire,
        releaseConnection: async (connection: SupervisedClient) => connection.release(),
        beginTransaction: run('begin'),
        commitTransaction: run('commit'),
        rollbackTransaction: run('rollback'),
      }),
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (database) => new PostgresIntrospector(database),
  };
}
