import type { PostgresOptions } from '../adapters/postgres/connections/pool.ts';
import { postgresUrlProblem } from '../adapters/postgres/connections/url.ts';
import type { JwtOptions } from '../adapters/tokens/jwt-tokens.ts';
import { checked, type Environment, type Problem, type Read } from './config-reader.ts';
import {
  bodySize,
  httpUrl,
  integer,
  jwksUrl,
  oneOf,
  origins,
  pause,
  port,
  processes,
  scope,
  text,
  time,
  totalSize,
} from './config-rules.ts';
import { sharingProblems } from './shares.ts';
import { TOKENS_NAMES, tokenLists, tokenSources } from './token-lists.ts';
import type { Variable } from './variables.ts';
import { webhookEndpoints } from './webhook-endpoints.ts';

export type DatabaseConfig =
  | ({ readonly kind: 'postgres' } & PostgresOptions)
  | { readonly kind: 'embedded'; readonly dataDir: string };

/**
 * Reads the whole configuration; a variable that is empty counts as not set.
 *
 * @throws Error with a line for each variable that is wrong, naming it and what it must be
 */
export function readConfig(environment: Environment) {
  return checked(environment, (read, problem) => {
    const database = databaseConfig('DATABASE_URL', read, problem);
    const given = (name: Variable) => Boolean(environment[name]);
    if (given('DATABASE_URL') && ![...TOKENS_NAMES, ...JWT_NAMES].some(given)) {
      const names = [...TOKENS_NAMES, 'JWT_JWKS_URL'].join(', ');
      problem(`one of ${names} must be set when DATABASE_URL is: openssl rand -hex 32 makes a token`);
    }
    const jwtName = [...JWT_NAMES, 'JWT_READ_SCOPE' as const, 'JWT_WRITE_SCOPE' as const].find(given);
    for (const name of jwtName === undefined ? [] : JWT_NAMES) {
      if (!given(name)) problem(`${name} must be set too, since ${jwtName} is`);
    }
    const bodyLimit = read('BODY_LIMIT', bodySize) ?? 1024 ** 2;
    const maxRequestBytes = read('MAX_REQUEST_BYTES', totalSize) ?? 64 * 1024 ** 2;
    // The largest body would be refused even when it is alone.
    if (maxRequestBytes < bodyLimit) problem('MAX_REQUEST_BYTES must be at least BODY_LIMIT');
    const shutdownTimeout = read('SHUTDOWN_TIMEOUT', time) ?? 10_000;
    const shutdownDelay = read('SHUTDOWN_DELAY', pause) ?? Math.min(SHUTDOWN_DELAY, shutdownTimeout / 2);
    if (shutdownDelay > shutdownTimeout / 2) {
      problem(
        'SHUTDOWN_DELAY must be at most half of SHUTDOWN_TIMEOUT, so that the requests in flight have the other half',
      );
    }
    const config = {
      /** How many serve the API together. Only a single one can have the embedded database. */
      processes: read('PROCESSES', processes) ?? 1,
      api: {
        host: read('HOST', text) ?? '127.0.0.1',
        port: read('PORT', port) ?? 3000,
        baseUrl: read('BASE_URL', httpUrl),
        /** Whose pages may use the API from a browser; `pages` are the service's own, at / and /docs. */
        corsOrigins: read('CORS_ORIGINS', origins) ?? [],
        pages: read('PAGES', oneOf('on', 'off')) !== 'off',
      },
      management: {
        host: read('MANAGEMENT_HOST', text) ?? '127.0.0.1',
        port: read('MANAGEMENT_PORT', port) ?? 3001,
      },
      database,
      /** Accepted bearer tokens. Without any, and no `jwt`, a service on the embedded database generates one. */
      tokens: tokenLists(read, problem),
      tokenSources: tokenSources(environment),
      /** Whose signed tokens are accepted as well. */
      jwt: jwtConfig(read),
      webhooks: webhookEndpoints(read, problem, given),
      /** In bytes. */
      bodyLimit,
      /** Most plants in one statement. */
      batchRows: read('BATCH_ROWS', integer('a number of rows', 1, 1_000)) ?? 256,
      /** Milliseconds that a request may wait for the store. */
      storeTimeout: read('STORE_TIMEOUT', time) ?? 5_000,
      limits: {
        maxRequests: read('MAX_REQUESTS', integer('a number of requests', 1, 1_000_000)) ?? 1_000,
        maxRequestBytes,
      },
      /** Lists that are streamed at once. */
      maxStreams: read('MAX_STREAMS', integer('a number of lists', 1, 1_000)) ?? 4,
      /** Requests for changes at once, those that wait included. */
      maxFollowers: read('MAX_FOLLOWERS', integer('a number of requests', 1, 1_000_000)) ?? 5_000,
      /** Connections to the API that may be open at once. */
      maxConnections: read('MAX_CONNECTIONS', integer('a number of connections', 1, 1_000_000)) ?? 10_000,
      logLevel: read('LOG_LEVEL', oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent')) ?? 'info',
      /** Milliseconds that a stopping service still accepts connections; the remaining time is for requests in flight. */
      shutdownDelay,
      /** Milliseconds that stopping may take, including that. */
      shutdownTimeout,
    };
    const { api, management } = config;
    if (api.port > 0 && api.port === management.port && api.host === management.host) {
      problem('MANAGEMENT_PORT must not be that of PORT, unless MANAGEMENT_HOST and HOST differ');
    }
    if (config.processes > 1) for (const line of sharingProblems(config)) problem(line);
    return config;
  });
}

export type Config = ReturnType<typeof readConfig>;

/** Milliseconds. */
const SHUTDOWN_DELAY = 5_000;

const JWT_NAMES = ['JWT_JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE'] as const;

/** Reads what a migration needs, which may have a role of its own. @throws Error */
export function readMigrationConfig(environment: Environment): DatabaseConfig {
  const name = environment.MIGRATION_DATABASE_URL ? 'MIGRATION_DATABASE_URL' : 'DATABASE_URL';
  return checked(environment, (read, problem) => databaseConfig(name, read, problem));
}

/** Reads what an import needs: the database of the service. @throws Error */
export function readDatabaseConfig(environment: Environment): DatabaseConfig {
  return checked(environment, (read, problem) => databaseConfig('DATABASE_URL', read, problem));
}

function databaseConfig(
  urlName: 'DATABASE_URL' | 'MIGRATION_DATABASE_URL',
  read: Read,
  problem: Problem,
): DatabaseConfig {
  const url = read(urlName, text);
  const wrong = url && postgresUrlProblem(url);
  if (wrong) problem(`${urlName} ${wrong}`);
  const poolSize = read('POOL_SIZE', integer('a number of connections', 1, 1_000)) ?? 10;
  const connectTimeout = read('CONNECT_TIMEOUT', time) ?? 2_000;
  const statementTimeout = read('STATEMENT_TIMEOUT', time) ?? 1_000;
  const idleTimeout = read('IDLE_TIMEOUT', time) ?? 10_000;
  const dataDir = read('DATA_DIR', text) ?? './data';
  if (url === undefined) return { kind: 'embedded', dataDir };
  return { kind: 'postgres', url, poolSize, connectTimeout, statementTimeout, idleTimeout };
}

function jwtConfig(read: Read): JwtOptions | undefined {
  const [url, issuer, audience] = [read('JWT_JWKS_URL', jwksUrl), read('JWT_ISSUER', text), read('JWT_AUDIENCE', text)];
  const readScope = read('JWT_READ_SCOPE', scope);
  const writeScope = read('JWT_WRITE_SCOPE', scope);
  return url && issuer && audience ? { jwksUrl: url, issuer, audience, readScope, writeScope } : undefined;
}
