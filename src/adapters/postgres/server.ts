import type { Socket } from 'node:net';
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely';
import { Client, Pool, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { abandonedStatements } from './abandoned-statements.ts';
import type { Database, Tables } from './database.ts';
import { connectionError, refusesParameters } from './errors.ts';
import { primaryAmong, requireReadWrite } from './primary.ts';
import { requireServerLimits } from './server-limits.ts';
import { type SupervisedClient, supervised } from './supervised-client.ts';
import { addressOf, requiresReadWrite, singleHostUrls } from './url.ts';

export interface PostgresOptions {
  /** Without a problem (`postgresUrlProblem`). Of several hosts, one that takes writes is used. */
  readonly url: string;
  readonly poolSize: number;
  /** Milliseconds to wait for a free or a new connection, at each host. */
  readonly connectTimeout: number;
  /**
   * Milliseconds until the server cancels a statement, or its wait for a lock. After twice as long without a response
   * the connection is closed. 0 for migrations, which may take any time.
   */
  readonly statementTimeout: number;
  /** Milliseconds until an idle connection is closed. */
  readonly idleTimeout: number;
}

/** Milliseconds of silence until the first TCP keep-alive probe. */
const KEEP_ALIVE = 10_000;

/** Creates a pool of connections to a Postgres server. It connects when first used, so the server may start later. */
export function postgresServer(options: PostgresOptions, log: Logger): Database {
  const { url, poolSize, connectTimeout, statementTimeout, idleTimeout } = options;
  const urls = singleHostUrls(url);
  const pool = new Pool({
    connectionString: urls[0],
    application_name: 'plant-store',
    max: poolSize,
    connectionTimeoutMillis: connectTimeout,
    idleTimeoutMillis: idleTimeout,
    // Sent as start-up parameters: the server cancels a statement before its commit, never during it.
    statement_timeout: statementTimeout,
    lock_timeout: statementTimeout,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE,
    ...(requiresReadWrite(url) && {
      verify: (client, done) => requireReadWrite(client, connectTimeout).then(() => done(), done),
    }),
  });
  const connections = new Map<PoolClient, SupervisedClient>();
  pool.on('connect', (client) => {
    connections.set(client, supervised(client, supervisor));
    // The pool listens to idle clients only; an error of one that is checked out would end the process.
    client.on('error', (error) => log.warn({ err: error }, 'database connection lost'));
  });
  pool.on('remove', (client) => connections.delete(client));
  pool.on('error', () => {});

  /** Connections opened earlier may lead to a server that is unresponsive, gone, or no longer the primary. */
  let validSince = 0;
  // poolSize - 2, so that with the counting connection and one being closed there are at most twice poolSize backends.
  // At least one even so: a silent connection that is kept would take all or half of a smaller pool for minutes.
  const abandoned = abandonedStatements(
    Math.max(1, poolSize - 2),
    () => [...connections.values()].map(({ processId }) => processId),
    () => ({ ...pool.options, query_timeout: connectTimeout }),
  );
  const supervisor = {
    deadline: statementTimeout * 2,
    tryAbandon: abandoned.tryAdd,
    discard,
    invalidateOpenedBefore(time: number) {
      validSince = Math.max(validSince, time);
    },
  };

  function discard(client: PoolClient): void {
    // Before the pool's own event, since its backend already counts as abandoned.
    connections.delete(client);
    closeAtOnce(client);
  }

  const onPrimary = primaryAmong(
    urls,
    () => pool.options,
    (changed, failure) => {
      // The pool reads it for each new connection.
      pool.options.connectionString = changed;
      validSince = performance.now();
      log.warn({ err: failure, host: addressOf(changed) }, 'changed to another host of the database');
    },
  );
  const openConnection = urls.length > 1 ? () => onPrimary(connect) : connect;

  async function validClient() {
    for (;;) {
      const client = await openConnection();
      const connection = connections.get(client) ?? supervised(client, supervisor);
      if (connection.openedAt >= validSince) return connection;
      discard(client);
    }
  }

  async function connect(): Promise<PoolClient> {
    const { statement_timeout: limit } = pool.options;
    try {
      return await pool.connect();
    } catch (error) {
      if (!refusesParameters(error) || !limit) throw connectionError(error);
      // PgBouncer refuses these unless ignore_startup_parameters names them. The role's own limits then apply.
      Object.assign(pool.options, { statement_timeout: 0, lock_timeout: 0 });
      return connect();
    }
  }

  const database = new Kysely<Tables>({
    dialect: new PostgresDialect({
      // Kysely's type requires more than it uses without cursors and its own cancellation.
      pool: { connect: validClient, end: () => pool.end() } as unknown as PostgresPool,
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
    description: describe(urls),
    verify: () => requireServerLimits(database, statementTimeout),
    close() {
      abandoned.allowAll();
      return database.destroy();
    },
  };
}

/** Closes a connection at once; the driver alone would wait for the other end, even on a dead network. */
function closeAtOnce(client: PoolClient): void {
  client.release(true);
  // Not in pg's types.
  const { connection } = client as unknown as { connection: { stream: Socket } };
  connection.stream.destroy();
}

function describe(urls: readonly [string, ...string[]]): string {
  const { database } = new Client({ connectionString: urls[0] });
  return `Postgres at ${urls.map(addressOf).join()}/${database}`;
}
