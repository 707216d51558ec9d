import type { PostgresOptions } from '../adapters/postgres/server.ts';
import { postgresUrlProblem } from '../adapters/postgres/url.ts';
import type { JwtOptions } from '../adapters/tokens/jwt-tokens.ts';
import { isPipe, type TokensFile } from '../adapters/tokens/tokens-file.ts';
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
  tokens,
  totalSize,
} from './config-rules.ts';
import { sharingProblems } from './shares.ts';
import { TOKENS_FILE, tokensIn } from './tokens-file.ts';

export type DatabaseConfig =
  | ({ readonly kind: 'postgres' } & PostgresOptions)
  | { readonly kind: 'embedded'; readonly dataDir: string };

/**
 * Reads the whole configuration; a variable that is empty counts as not set.
 *
 * @throws ConfigError with a line for each variable that is wrong, naming it and what it must be
 */
export function readConfig(environment: Environment) {
  return checked(environment, (read, problem) => {
    const database = databaseConfig('DATABASE_URL', read, problem);
    const given = (name: string) => Boolean(environment[name]);
    if (given('DATABASE_URL') && ![...TOKENS_NAMES, ...JWT_NAMES].some(given)) {
      problem(`${TOKENS_NAMES.join(', ')} or JWT_JWKS_URL must say which tokens are accepted when DATABASE_URL is set`);
    }
    const missing = JWT_NAMES.filter((name) => !given(name));
    if (missing.length < JWT_NAMES.length) {
      for (const name of missing) problem(`${name} must be set too: ${JWT_NAMES.join(', ')} belong together`);
    }
    const bodyLimit = read('BODY_LIMIT', bodySize, '1mb');
    const maxRequestBytes = read('MAX_REQUEST_BYTES', totalSize, '64mb');
    // The largest body would be refused even when it is alone.
    if (maxRequestBytes < bodyLimit) problem('MAX_REQUEST_BYTES must be at least BODY_LIMIT');
    const [accessTokens, readTokens] = [read('ACCESS_TOKENS', tokens) ?? [], read('READ_TOKENS', tokens) ?? []];
    const accessTokensFile = tokensFile('ACCESS_TOKENS_FILE', read, problem);
    const readTokensFile = tokensFile('READ_TOKENS_FILE', read, problem);
    const full = [...accessTokens, ...(accessTokensFile?.tokens ?? [])];
    if ([...readTokens, ...(readTokensFile?.tokens ?? [])].some((token) => full.includes(token))) {
      problem('READ_TOKENS and READ_TOKENS_FILE must not have a token of ACCESS_TOKENS or ACCESS_TOKENS_FILE');
    }
    const shutdownTimeout = read('SHUTDOWN_TIMEOUT', time, '10s');
    const config = {
      /** How many serve the API together. Only a single one can have the embedded database. */
      processes: read('PROCESSES', processes, '1'),
      api: {
        host: read('HOST', text, '127.0.0.1'),
        port: read('PORT', port, '3000'),
        baseUrl: read('BASE_URL', httpUrl),
        /** Whose pages may use the API from a browser. */
        corsOrigins: read('CORS_ORIGINS', origins) ?? [],
      },
      management: {
        host: read('MANAGEMENT_HOST', text, '127.0.0.1'),
        port: read('MANAGEMENT_PORT', port, '3001'),
      },
      database,
      /**
       * Accepted bearer tokens. If no tokens, tokens file or `jwt` are configured, a service on the embedded database
       * generates one.
       */
      tokens: accessTokens,
      tokensFile: accessTokensFile,
      /** The same for tokens that permit reading only. */
      readTokens,
      readTokensFile,
      /** Whose signed tokens are accepted as well. */
      jwt: jwtConfig(read),
      /** In bytes. */
      bodyLimit,
      /** Most plants in one statement. */
      batchRows: read('BATCH_ROWS', integer('a number of rows', 1, 1_000), '256'),
      /** Milliseconds that a request may wait for the store. */
      storeTimeout: read('STORE_TIMEOUT', time, '5s'),
      limits: {
        maxRequests: read('MAX_REQUESTS', integer('a number of requests', 1, 1_000_000), '1000'),
        maxRequestBytes,
      },
      /** Lists that are streamed at once. */
      maxStreams: read('MAX_STREAMS', integer('a number of lists', 1, 1_000), '4'),
      /** Requests for changes at once, those that wait included. */
      maxFollowers: read('MAX_FOLLOWERS', integer('a number of requests', 1, 1_000_000), '5000'),
      /** Connections to the API that may be open at once. */
      maxConnections: read('MAX_CONNECTIONS', integer('a number of connections', 1, 1_000_000), '10000'),
      logLevel: read('LOG_LEVEL', oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info'),
      /** Milliseconds that a stopping service still accepts connections; the remaining time is for requests in flight. */
      shutdownDelay: Math.min(read('SHUTDOWN_DELAY', pause, '5s'), shutdownTimeout / 2),
      /** Milliseconds that stopping may take, including that. */
      shutdownTimeout,
    };
    if (config.processes > 1) {
      for (const line of sharingProblems(config)) problem(line);
      for (const file of [accessTokensFile, readTokensFile]) {
        if (file && isPipe(file.path)) problem(`${file.variable} must not be a pipe with more than one of PROCESSES`);
      }
    }
    return config;
  });
}

export type Config = ReturnType<typeof readConfig>;

const TOKENS_NAMES = ['ACCESS_TOKENS', 'ACCESS_TOKENS_FILE', 'READ_TOKENS', 'READ_TOKENS_FILE'];
const JWT_NAMES = ['JWT_JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE'];

/** Reads what a migration needs, which may have a role of its own. @throws ConfigError */
export function readMigrationConfig(environment: Environment): DatabaseConfig {
  const name = environment.MIGRATION_DATABASE_URL ? 'MIGRATION_DATABASE_URL' : 'DATABASE_URL';
  return checked(environment, (read, problem) => databaseConfig(name, read, problem));
}

/** Reads what an import needs: the database of the service. @throws ConfigError */
export function readDatabaseConfig(environment: Environment): DatabaseConfig {
  return checked(environment, (read, problem) => databaseConfig('DATABASE_URL', read, problem));
}

function databaseConfig(urlName: string, read: Read, problem: Problem): DatabaseConfig {
  const url = read(urlName, text);
  const wrong = url && postgresUrlProblem(url);
  if (wrong) problem(`${urlName} ${wrong}`);
  const poolSize = read('POOL_SIZE', integer('a number of connections', 1, 1_000), '10');
  const connectTimeout = read('CONNECT_TIMEOUT', time, '2s');
  const statementTimeout = read('STATEMENT_TIMEOUT', time, '1s');
  const idleTimeout = read('IDLE_TIMEOUT', time, '10s');
  const dataDir = read('DATA_DIR', text, './data');
  if (url === undefined) return { kind: 'embedded', dataDir };
  return { kind: 'postgres', url, poolSize, connectTimeout, statementTimeout, idleTimeout };
}

function tokensFile(name: string, read: Read, problem: Problem): TokensFile | undefined {
  const path = read(name, text);
  const file = path === undefined ? undefined : tokensIn(name, path);
  if (path !== undefined && file === undefined) problem(`${name} must be ${TOKENS_FILE}`);
  return file;
}

function jwtConfig(read: Read): JwtOptions | undefined {
  const [url, issuer, audience] = [read('JWT_JWKS_URL', jwksUrl), read('JWT_ISSUER', text), read('JWT_AUDIENCE', text)];
  const readScope = read('JWT_READ_SCOPE', scope);
  const writeScope = read('JWT_WRITE_SCOPE', scope);
  return url && issuer && audience ? { jwksUrl: url, issuer, audience, readScope, writeScope } : undefined;
}
