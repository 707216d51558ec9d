import type { Socket } from 'node:net';
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely';
import { Client, Pool, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { cancelRunning } from './cancel.ts';
import type { Database, Tables } from './database.ts';
import { spoilsConnection } from './errors.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Milliseconds to wait for a free or a new connection. */
  readonly connectTimeout: number;
  /**
   * Milliseconds until a statement is cancelled; if it has not ended as long again later, its connection is closed.
   * 0 for migrations, which may take any time.
   */
  readonly statementTimeout: number;
  /** Milliseconds until a connection without work is closed. */
  readonly idleTimeout: number;
}

/** Opens a pool of connections to a Postgres server. It connects when first used, so a server may come later. */
export function postgresServer(options: PostgresOptions, log: Logger): Database {
  const { url, poolSize, connectTimeout, statementTimeout, idleTimeout } = options;
  const pool = new Pool({
    connectionString: url,
    application_name: 'plant-store',
    max: poolSize,
    connectionTimeoutMillis: connectTimeout,
    idleTimeoutMillis: idleTimeout,
    // Time-outs are kept on this side: PgBouncer refuses statement_timeout as a start-up parameter.
    query_timeout: statementTimeout * 2,
    keepAlive: true,
  });
  const lost = (error: Error) => log.warn({ err: error }, 'database connection lost');
  const connectedAt = new WeakMap<PoolClient, number>();
  pool.on('connect', (client) => {
    connectedAt.set(client, performance.now());
    // The pool itself hears idle clients only; one that dies while it is checked out would end the process.
    client.on('error', lost);
  });
  pool.on('error', () => {});

  /** Older connections lead to a server that has fallen silent, is gone, or is no longer the primary. */
  let trustedSince = 0;
  async function trustedClient() {
    for (;;) {
      const client = await pool.connect();
      if ((connectedAt.get(client) ?? 0) >= trustedSince) return supervised(client, statementTimeout, distrust);
      discard(client);
    }
  }
  function distrust(sent: number): void {
    trustedSince = Math.max(trustedSince, sent);
  }

  const sql = new Kysely<Tables>({
    dialect: new PostgresDialect({
      // Kysely's type asks for more than it uses without cursors and its own cancellation.
      pool: { connect: trustedClient, end: () => pool.end() } as unknown as PostgresPool,
    }),
  });
  return {
    sql,
    connections: poolSize,
    connectionUse: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      unused: poolSize - pool.totalCount,
    }),
    description: describe(url),
    close: () => sql.destroy(),
  };
}

/**
 * Cancels what takes too long, and closes a client that can no longer be trusted: Kysely gives every one back as
 * healthy, and one that failed without an answer from Postgres would spoil the next query.
 *
 * @param distrust is told when a statement was sent that showed that: waiting for each of a pool's dead connections in
 * turn would take longer than a request has
 */
function supervised(client: PoolClient, statementTimeout: number, distrust: (sent: number) => void) {
  let spoiled = false;
  function cancel(): void {
    // The request may arrive late, and would then hit whatever runs next on this connection.
    spoiled = true;
    cancelRunning(client);
  }
  return {
    async query(sql: string, parameters: unknown[]) {
      const timer = statementTimeout > 0 && setTimeout(cancel, statementTimeout);
      const sent = performance.now();
      try {
        return await client.query(sql, parameters);
      } catch (error) {
        if (spoilsConnection(error)) {
          spoiled = true;
          distrust(sent);
        }
        throw error;
      } finally {
        if (timer) clearTimeout(timer);
      }
    },
    release: () => (spoiled ? discard(client) : client.release()),
  };
}

/** Closes a connection at once; by itself the driver would wait for a dead network to say goodbye. */
function discard(client: PoolClient): void {
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
