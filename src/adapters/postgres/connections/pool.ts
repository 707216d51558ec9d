import { Socket } from 'node:net';
import { Kysely } from 'kysely';
import { Client, type ClientBase, type ClientConfig, type CustomTypesConfig, Pool, types } from 'pg';
import type { Logger } from 'pino';
import { PlantStoreError } from '../../../domain/errors.ts';
import type { SqlDatabase } from '../../sql/dialect.ts';
import { ConnectionError, failureOf } from '../failures.ts';
import { withAdvice } from '../schema/advice.ts';
import { beginSession, isRefusalOfLimits, requireSafeSettings, startupLimits } from './session.ts';
import { kyselyDialect, type SupervisedClient, supervise } from './supervised-client.ts';
import { driverConfig } from './url.ts';

export interface PostgresOptions {
  /** A URL that pg-connection-string takes. */
  readonly url: string;
  readonly poolSize: number;
  /** Milliseconds until the server cancels a statement; 0 for migrations, which may take any time. */
  readonly statementTimeout: number;
  /** Milliseconds to wait for a free or a new connection; 2 s by default. */
  readonly connectTimeout?: number;
}

/** An open database of Postgres. */
export interface Database extends SqlDatabase {
  readonly sql: Kysely<unknown>;
  /** Its connections by state. */
  readonly connectionUse: () => { readonly busy: number; readonly idle: number; readonly unused: number };
  /** Checks the settings as requireSafeSettings does. */
  readonly verify: () => Promise<string | undefined>;
  /** A description of the database, without its password. */
  readonly description: string;
  close(): Promise<void>;
}

/** Milliseconds until an idle connection is closed. */
const IDLE_MS_MAX = 10_000;

/** Milliseconds for which an abandoned statement counts: its end cannot be detected. */
const ABANDONED_MS = 60_000;

/** pg itself returns an int8 as a string. */
const withExactIntegers: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? BigInt : types.getTypeParser(oid, format)),
};

/**
 * Creates a pool of connections to a Postgres server. It connects when first used, so the server may start later.
 *
 * @param log reports failures of unused connections
 */
export function postgresServer(options: PostgresOptions, log?: Pick<Logger, 'warn'>): Database {
  const { url, poolSize, statementTimeout, connectTimeout = 2_000 } = options;
  let driver = driverConfig(url);
  /** No limits are sent once a pooler has refused them. */
  let limits: ClientConfig | undefined = startupLimits(statementTimeout);
  /** Connections opened earlier may lead to a server that is unresponsive, gone, or no longer the primary. */
  let validSince = 0;
  let isClosed = false;
  const connections = new WeakMap<ClientBase, SupervisedClient>();

  /**
   * A client that configures itself for each connection, since a pool has one configuration for all. It closes without
   * waiting for the server, which never responds on a dead network: a command would not end.
   */
  class OwnClient extends Client {
    readonly #socket: Socket;

    constructor(config?: ClientConfig) {
      // Uses the current certificates, or else the former ones: an error in the pool would end the process.
      try {
        driver = driverConfig(url);
      } catch (err) {
        log?.warn({ err }, 'the certificates of DATABASE_URL cannot be read again');
      }
      const socket = new Socket();
      super({ ...config, ...driver, ...limits, stream: () => socket });
      this.#socket = socket;
    }

    override async end(onEnd?: (error: Error) => void): Promise<void> {
      const end = onEnd === undefined ? super.end() : super.end(onEnd);
      this.#socket.destroySoon();
      await end;
    }
  }

  const pool = new Pool({
    Client: OwnClient,
    application_name: 'plant-store',
    connectionTimeoutMillis: connectTimeout,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: withExactIntegers,
    max: poolSize,
    idleTimeoutMillis: IDLE_MS_MAX,
    async onConnect(client) {
      // The pool handles errors of idle clients only; an error of a client in use would end the process.
      client.on('error', (err) => log?.warn({ err }, 'database connection lost'));
      connections.set(client, supervise(client, await beginSession(client, connectTimeout), supervisor));
    },
  });
  pool.on('error', () => {});

  let abandonTimes: number[] = [];
  // poolSize - 2, so that abandoned backends and open connections together stay below twice poolSize. At least 1: a silent
  // connection that is kept would take all or half of a smaller pool.
  const abandonedMax = Math.max(1, poolSize - 2);
  const supervisor = {
    deadline: statementTimeout * 2,
    mayPrepare: true,
    tryAbandon() {
      const now = performance.now();
      abandonTimes = abandonTimes.filter((time) => now - time < ABANDONED_MS);
      const mayAbandon = isClosed || abandonTimes.length < abandonedMax;
      if (mayAbandon) abandonTimes.push(now);
      return mayAbandon;
    },
    invalidateOpenedBefore(time: number) {
      validSince = Math.max(validSince, time);
    },
  };

  async function validConnection(): Promise<SupervisedClient> {
    for (;;) {
      // A repeated statement, or one for a client that was cut off, may come after the end.
      if (isClosed) throw new PlantStoreError('store_unavailable', 'the service is stopping');
      const client = await pool.connect().catch((error) => {
        if (!isRefusalOfLimits(error) || limits === undefined) throw new ConnectionError(error);
        limits = undefined;
      });
      const connection = client && connections.get(client);
      if (connection !== undefined && connection.openedAt >= validSince) return connection;
      client?.release(true);
    }
  }

  const { host, port, database } = new Client(driver);
  const sql: Database['sql'] = new Kysely({ dialect: kyselyDialect(validConnection) });
  return {
    sql,
    connections: poolSize,
    failureOf,
    withAdvice,
    connectionUse: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      unused: poolSize - pool.totalCount,
    }),
    description: `Postgres at ${host}:${port}/${database}`,
    verify: () => requireSafeSettings(sql, statementTimeout),
    close() {
      isClosed = true;
      return pool.end();
    },
  };
}
