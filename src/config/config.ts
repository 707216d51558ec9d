import type { PostgresOptions } from '../adapters/postgres/connections/pool.ts';
import { postgresUrlProblem } from '../adapters/postgres/connections/url.ts';
import type { JwtOptions } from '../adapters/tokens/jwt-tokens.ts';
import { checked, type Environment, type Variables } from './config-reader.ts';
import * as rules from './config-rules.ts';
import { environment } from './environment.ts';
import { TOKENS_NAMES, tokenLists, tokenSources } from './token-lists.ts';
import { webhookEndpoints } from './webhook-endpoints.ts';

export type DatabaseConfig =
  | ({ readonly kind: 'postgres' } & PostgresOptions)
  | { readonly kind: 'embedded'; readonly dataDir: string };

/**
 * Reads the whole configuration; a variable that is empty counts as not set.
 *
 * @throws Error with a line for each variable that is wrong, naming it and what it must be
 */
export function readConfig(source: Environment = environment()) {
  return checked(source, (variables) => {
    const { given, read, problem } = variables;
    const database = databaseConfig('DATABASE_URL', variables);
    if (given('DATABASE_URL') && ![...TOKENS_NAMES, ...JWT_NAMES].some(given)) {
      const names = [...TOKENS_NAMES, 'JWT_JWKS_URL'].join(', ');
      problem(`one of ${names} must be set when DATABASE_URL is: openssl rand -hex 32 makes a token`);
    }
    const jwtName = [...JWT_NAMES, 'JWT_READ_SCOPE' as const, 'JWT_WRITE_SCOPE' as const].find(given);
    for (const name of jwtName === undefined ? [] : JWT_NAMES) {
      if (!given(name)) problem(`${name} must be set too, since ${jwtName} is`);
    }
    const bodyLimit = read('BODY_LIMIT', rules.bodySize) ?? 1024 ** 2;
    const maxRequestBytes = read('MAX_REQUEST_BYTES', rules.totalSize) ?? 64 * 1024 ** 2;
    // The largest body would be refused even when it is alone.
    if (maxRequestBytes < bodyLimit) problem('MAX_REQUEST_BYTES must be at least BODY_LIMIT');
    const shutdownTimeout = read('SHUTDOWN_TIMEOUT', rules.time) ?? 10_000;
    const shutdownDelay = read('SHUTDOWN_DELAY', rules.durationOrZero) ?? Math.min(SHUTDOWN_DELAY, shutdownTimeout / 2);
    if (shutdownDelay > shutdownTimeout / 2) {
      problem(
        'SHUTDOWN_DELAY must be at most half of SHUTDOWN_TIMEOUT, so that the requests in flight have the other half',
      );
    }
    const config = {
      api: {
        host: read('HOST', rules.text) ?? '127.0.0.1',
        port: read('PORT', rules.port) ?? 3000,
        /** Whether other instances listen at the port, too. */
        reusePort: read('REUSE_PORT', rules.oneOf('on', 'off')) === 'on',
        baseUrl: read('BASE_URL', rules.httpUrl),
        /** Whose pages may use the API from a browser; `pages` are the service's own, at / and /docs. */
        corsOrigins: read('CORS_ORIGINS', rules.origins) ?? [],
        pages: read('PAGES', rules.oneOf('on', 'off')) !== 'off',
      },
      management: {
        host: read('MANAGEMENT_HOST', rules.text) ?? '127.0.0.1',
        port: read('MANAGEMENT_PORT', rules.port) ?? 3001,
      },
      database,
      /** Accepted bearer tokens. Without any, and no `jwt`, a service on the embedded database generates one. */
      tokens: tokenLists(variables),
      tokenSources: tokenSources(source),
      /** Whose signed tokens are accepted as well. */
      jwt: jwtConfig(variables),
      webhooks: webhookEndpoints(variables),
      /** In bytes. */
      bodyLimit,
      /** Most plants in one statement. */
      batchRows: read('BATCH_ROWS', rules.integer('a number of rows', 1, 1_000)) ?? 256,
      /** Milliseconds that a request may wait for the store. */
      storeTimeout: read('STORE_TIMEOUT', rules.time) ?? 5_000,
      limits: {
        maxRequests: read('MAX_REQUESTS', rules.integer('a number of requests', 1, 1_000_000)) ?? 1_000,
        maxRequestBytes,
      },
      /** Lists that are streamed at once. */
      maxStreams: read('MAX_STREAMS', rules.integer('a number of lists', 1, 1_000)) ?? 4,
      /** Requests for changes at once, those that wait included. */
      maxFollowers: read('MAX_FOLLOWERS', rules.integer('a number of requests', 1, 1_000_000)) ?? 5_000,
      /** Connections to the API that may be open at once. */
      maxConnections: read('MAX_CONNECTIONS', rules.integer('a number of connections', 1, 1_000_000)) ?? 10_000,
      logLevel: read('LOG_LEVEL', rules.oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent')) ?? 'info',
      /** Milliseconds that a stopping service still accepts connections; the remaining time is for requests in flight. */
      shutdownDelay,
      /** Milliseconds that stopping may take, including that. */
      shutdownTimeout,
    };
    const { api, management } = config;
    if (api.port > 0 && api.port === management.port && api.host === management.host) {
      problem('MANAGEMENT_PORT must not be that of PORT, unless MANAGEMENT_HOST and HOST differ');
    }
    if (api.reusePort) for (const line of sharingProblems(config)) problem(line);
    return config;
  });
}

export type Config = ReturnType<typeof readConfig>;

/** Milliseconds. */
const SHUTDOWN_DELAY = 5_000;

/** What keeps instances from listening at one port: a line for each reason, naming the variable and what it must be. */
function* sharingProblems({ api, database }: Pick<Config, 'api' | 'database'>): Iterable<string> {
  if (process.platform !== 'linux') {
    yield 'REUSE_PORT must be off here: only Linux distributes connections among instances. deploy/nginx.conf does, too';
  }
  if (api.port === 0) yield 'PORT must not be 0 when REUSE_PORT is on: each instance would listen at another port';
  if (database.kind === 'embedded') {
    yield 'REUSE_PORT must be off with the embedded database in DATA_DIR, which one process can open: set DATABASE_URL';
  }
}

const JWT_NAMES = ['JWT_JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE'] as const;

/** Reads what a migration needs, which may have a role of its own. @throws Error */
export function readMigrationConfig(source: Environment = environment()): DatabaseConfig {
  const name = source.MIGRATION_DATABASE_URL ? 'MIGRATION_DATABASE_URL' : 'DATABASE_URL';
  return checked(source, (variables) => databaseConfig(name, variables));
}

/** Reads what an import needs: the database of the service. @throws Error */
export function readDatabaseConfig(source: Environment = environment()): DatabaseConfig {
  return checked(source, (variables) => databaseConfig('DATABASE_URL', variables));
}

function databaseConfig(
  urlName: 'DATABASE_URL' | 'MIGRATION_DATABASE_URL',
  { read, problem }: Variables,
): DatabaseConfig {
  const url = read(urlName, rules.text);
  const wrong = url && postgresUrlProblem(url);
  if (wrong) problem(`${urlName} ${wrong}`);
  const poolSize = read('POOL_SIZE', rules.integer('a number of connections', 1, 1_000)) ?? 10;
  const connectTimeout = read('CONNECT_TIMEOUT', rules.time) ?? 2_000;
  const statementTimeout = read('STATEMENT_TIMEOUT', rules.time) ?? 1_000;
  const idleTimeout = read('IDLE_TIMEOUT', rules.time) ?? 10_000;
  const dataDir = read('DATA_DIR', rules.text) ?? './data';
  if (url === undefined) return { kind: 'embedded', dataDir };
  return { kind: 'postgres', url, poolSize, connectTimeout, statementTimeout, idleTimeout };
}

function jwtConfig({ read }: Variables): JwtOptions | undefined {
  const jwksUrl = read('JWT_JWKS_URL', rules.httpsOrLoopbackUrl);
  const issuer = read('JWT_ISSUER', rules.text);
  const audience = read('JWT_AUDIENCE', rules.text);
  const readScope = read('JWT_READ_SCOPE', rules.scope);
  const writeScope = read('JWT_WRITE_SCOPE', rules.scope);
  return jwksUrl && issuer && audience ? { jwksUrl, issuer, audience, readScope, writeScope } : undefined;
}
