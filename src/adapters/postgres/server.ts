import type { Socket } from 'node:net';
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely';
import { Client, Pool, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { abandonedStatements } from './abandoned-statements.ts';
import type { Database, Tables } from './database.ts';
import { connectionError, refusesParameters } from './errors.ts';
import { requireServerLimits } from './server-limits.ts';
import { type Connection, observed, supervised } from './supervised-client.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Milliseconds to wait for a free or a new connection. */
  readonly connectTimeout: number;
  /**
   * Milliseconds until the server ends a statement, or its wait for a lock; if there is no response as long again
   * later, the connection is closed. 0 for migrations, which may take any time.
   */
  readonly statementTimeout: number;
  /** Milliseconds until a connection without work is closed. */
  readonly idleTimeout: number;
}

/** Milliseconds of silence after which the kernel asks whether the other end is still there. */
const KEEP_ALIVE = 10_000;

/** Opens a pool of connections to a Postgres server. It connects when first used, so a server may come later. */
export function postgresServer(options: PostgresOptions, log: Logger): Database {
  const { url, poolSize, connectTimeout, statementTimeout, idleTimeout } = options;
  const pool = new Pool({
    connectionString: url,
    application_name: 'plant-store',
    max: poolSize,
    connectionTimeoutMillis: connectTimeout,
    idleTimeoutMillis: idleTimeout,
    // Sent as start-up parameters: the server stops a statement before its commit, never in it.
    statement_timeout: statementTimeout,
    lock_timeout: statementTimeout,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE,
  });
  const connections = new Map<PoolClient, Connection>();
  pool.on('connect', (client) => {
    connections.set(client, observed(client));
    // The pool itself hears idle clients only; one that dies while it is checked out would end the process.
    client.on('error', (error) => log.warn({ err: error }, 'database connection lost'));
  });
  pool.on('remove', (client) => connections.delete(client));
  pool.on('error', () => {});

  /** Older connections lead to a server that has fallen silent, is gone, or is no longer the primary. */
  let trustedSince = 0;
  // Fewer than connections, so that there are at most twice as many with the one that asks and one that is closing.
  const abandoned = abandonedStatements(
    Math.max(0, poolSize - 2),
    () => [...connections.values()].map(({ processId }) => processId),
    () => ({ ...pool.options, query_timeout: connectTimeout }),
  );
  const supervisor = {
    deadline: statementTimeout * 2,
    mayAbandon: abandoned.mayAdd,
    discard,
    distrust(sent: number) {
      trustedSince = Math.max(trustedSince, sent);
    },
  };

  function discard(client: PoolClient): void {
    // Before the pool has removed it: its backend is no longer one of the pool's.
    connections.delete(client);
    closeAtOnce(client);
  }

  async function trustedClient() {
    for (;;) {
      const client = await connect();
      const connection = connections.get(client) ?? observed(client);
      if (connection.openedAt >= trustedSince) return supervised(connection, supervisor);
      discard(client);
    }
  }

  async function connect(): Promise<PoolClient> {
    const { statement_timeout: limit } = pool.options;
    try {
      return await pool.connect();
    } catch (error) {
      if (!refusesParameters(error) || !limit) throw connectionError(error);
      // PgBouncer, unless its ignore_startup_parameters names them. The role's own limits then have to hold.
      Object.assign(pool.options, { statement_timeout: 0, lock_timeout: 0 });
      return connect();
    }
  }

  const database = new Kysely<Tables>({
    dialect: new PostgresDialect({
      // Kysely's type asks for more than it uses without cursors and its own cancellation.
      pool: { connect: trustedClient, end: () => pool.end() } as unknown as PostgresPool,
    }),
  });
  return {
    sql: database,
    connections: poolSize,
    connectionUse: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      unused: poolSize - pool.totalCount,
    }),
    description: describe(url),
    verify: () => requireServerLimits(database, statementTimeout),
    close() {
      abandoned.allowAll();
      return database.destroy();
    },
  };
}

/** Closes a connection at once; by itself the driver would wait for the goodbye of a dead network. */
function closeAtOnce(client: PoolClient): void {
  client.release(true);
  // Not in pg's types.
  const { connection } = client as unknown as { connection: { stream: Socket } };
  connection.stream.destroy();
}

/** By what pg makes of the URL: a socket's folder, for one, stands in its query. */
function describe(url: string): string {
  const { host, port, database } = new Client({ connectionString: url });
  return `Postgres at ${host}:${port}/${database}`;
}
