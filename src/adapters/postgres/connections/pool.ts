import { Socket } from 'node:net';
import { Kysely } from 'kysely';
import { Client, type ClientBase, type ClientConfig, type CustomTypesConfig, Pool, type PoolClient, types } from 'pg';
import type { Logger } from 'pino';
import { PlantStoreError } from '../../../domain/errors.ts';
import { dialectOf } from '../citus.ts';
import type { Database } from '../database.ts';
import { ConnectionError, failureOf } from '../failures.ts';
import { abandonedStatements } from './abandoned-statements.ts';
import { sessions } from './session.ts';
import { kyselyDialect, supervised } from './supervised-client.ts';
import { driverConfig } from './url.ts';

export interface PostgresOptions {
  /** Without a problem (`urlProblem`). */
  readonly url: string;
  readonly poolSize: number;
  /** Milliseconds until the server cancels a statement; 0 for migrations, which may take any time. */
  readonly statementTimeout: number;
  /** Milliseconds to wait for a free or a new connection; 2 s if it is not given. */
  readonly connectTimeout?: number;
}

/** Milliseconds until an idle connection is closed. */
const IDLE_TIMEOUT = 10_000;

/** pg itself leaves an int8 a string. */
const withExactIntegers: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? BigInt : types.getTypeParser(oid, format)),
};

/** Creates a pool of connections to a Postgres server. It connects when first used, so the server may start later. */
export function postgresServer(options: PostgresOptions, log: Logger): Database {
  const { url, poolSize, statementTimeout, connectTimeout = 2_000 } = options;
  const { limits, omitIfRefused, begin, verify } = sessions(statementTimeout, connectTimeout);
  /** Connections opened earlier may lead to a server that is unresponsive, gone, or no longer the primary. */
  let validSince = 0;
  let isClosed = false;

  const common: ClientConfig = {
    application_name: 'plant-store',
    connectionTimeoutMillis: connectTimeout,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: withExactIntegers,
  };
  let driver = driverConfig(url);
  /** With certificates as they are now, or were before if they cannot be read: in the pool, an error would end the process. */
  function current(): ClientConfig {
    try {
      driver = driverConfig(url);
    } catch (err) {
      log.warn({ err }, 'the certificates of DATABASE_URL cannot be read again');
    }
    return { ...driver, ...limits() };
  }
  const connections = new WeakMap<ClientBase, ReturnType<typeof supervised>>();
  const pool = new Pool({
    ...common,
    Client: poolClientClass(current, (error) => log.warn({ err: error }, 'database connection lost')),
    max: poolSize,
    idleTimeoutMillis: IDLE_TIMEOUT,
    async onConnect(client) {
      connections.set(client, supervised(client, await begin(client), supervisor));
    },
  });
  pool.on('error', () => {});

  // poolSize - 2, so that abandoned backends and open connections together stay below twice poolSize. At least 1: a silent
  // connection that is kept would take all or half of a smaller pool.
  const abandoned = abandonedStatements(Math.max(1, poolSize - 2));
  const supervisor = {
    deadline: statementTimeout * 2,
    tryAbandon: abandoned.tryAdd,
    mayPrepare: true,
    invalidateOpenedBefore(time: number) {
      validSince = Math.max(validSince, time);
    },
  };

  async function validConnection() {
    for (;;) {
      // What is repeated, or goes on for a client that was cut off, may come later than the end.
      if (isClosed) throw new PlantStoreError('store_unavailable', 'the service is stopping');
      const client = await connect();
      const connection = connections.get(client);
      if (connection !== undefined && connection.openedAt >= validSince) return connection;
      client.release(true);
    }
  }

  async function connect(): Promise<PoolClient> {
    try {
      return await pool.connect();
    } catch (error) {
      if (omitIfRefused(error)) return connect();
      throw new ConnectionError(error);
    }
  }

  const { host, port, database } = new Client(driver);
  const sql: Database['sql'] = new Kysely({ dialect: kyselyDialect(validConnection) });
  return {
    sql,
    connections: poolSize,
    failureOf,
    dialect: () => dialectOf(sql),
    connectionUse: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      unused: poolSize - pool.totalCount,
    }),
    description: `Postgres at ${host}:${port}/${database}`,
    verify: () => verify(sql),
    close() {
      isClosed = true;
      abandoned.allowAll();
      return pool.end();
    },
  };
}

/**
 * A client for pg's pool whose configuration is determined when the client is made, where the pool has the same for all.
 * It closes without waiting for the server, which on a dead network never responds.
 *
 * @param current what differs from the pool's configuration now
 */
function poolClientClass(current: () => ClientConfig, onError: (error: Error) => void): typeof Client {
  // pg's documented way to make other clients is a class (its option `Client`).
  return class extends Client {
    readonly #socket: Socket;

    constructor(config?: ClientConfig) {
      const socket = new Socket();
      super({ ...config, ...current(), stream: () => socket });
      this.#socket = socket;
      // The pool listens to idle clients only; an error of a client that is checked out would end the process.
      this.on('error', onError);
    }

    override async end(onEnd?: (error: Error) => void): Promise<void> {
      const ended = onEnd === undefined ? super.end() : super.end(onEnd);
      this.#socket.destroySoon();
      await ended;
    }
  };
}
