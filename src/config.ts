import {
  httpUrl,
  integer,
  oneOf,
  pause,
  port,
  postgresUrl,
  type Rule,
  size,
  text,
  time,
  tokens,
  tokensFile,
} from './config-rules.ts';

export interface Config {
  readonly api: { readonly host: string; readonly port: number; readonly baseUrl: string | undefined };
  readonly management: { readonly host: string; readonly port: number };
  readonly database: DatabaseConfig;
  /** Most plants in one statement. */
  readonly batchRows: number;
  /** How long a request may wait for the store, in milliseconds. */
  readonly storeTimeout: number;
  /** Requests that may be under way at once, and the bytes of their bodies together. */
  readonly limits: { readonly maxRequests: number; readonly maxRequestBytes: number };
  /** Accepted bearer tokens; empty only with the embedded database, which then makes its own. */
  readonly tokens: readonly string[];
  /** In bytes. */
  readonly bodyLimit: number;
  readonly logLevel: string;
  /** In milliseconds, as the next one: how long a service that was told to stop still accepts connections. */
  readonly shutdownDelay: number;
  readonly shutdownTimeout: number;
}

export type DatabaseConfig =
  | {
      readonly kind: 'postgres';
      readonly url: string;
      readonly poolSize: number;
      /** In milliseconds, as the next two. */
      readonly connectTimeout: number;
      readonly statementTimeout: number;
      /** How long a connection without work stays open. */
      readonly idleTimeout: number;
    }
  | { readonly kind: 'embedded'; readonly dataDir: string };

type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that is wrong with the environment, one line a variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Reads the whole configuration; a variable that is empty counts as not set.
 *
 * @throws ConfigError with a line for each variable that is wrong, naming it and what it must be
 */
export function readConfig(environment: Environment): Config {
  return checked(environment, (read, problem) => {
    const database = databaseConfig(read);
    const listed = read('ACCESS_TOKENS', tokens);
    const fromFile = read('ACCESS_TOKENS_FILE', tokensFile);
    const given = (name: string) => Boolean(environment[name]);
    if (given('DATABASE_URL') && !given('ACCESS_TOKENS') && !given('ACCESS_TOKENS_FILE')) {
      problem('ACCESS_TOKENS or ACCESS_TOKENS_FILE must give the accepted tokens when DATABASE_URL is set');
    }
    const shutdownTimeout = read('SHUTDOWN_TIMEOUT', time, '10s');
    return {
      api: {
        host: read('HOST', text, '127.0.0.1'),
        port: read('PORT', port, '3000'),
        baseUrl: read('BASE_URL', httpUrl),
      },
      management: {
        host: read('MANAGEMENT_HOST', text, '127.0.0.1'),
        port: read('MANAGEMENT_PORT', port, '3001'),
      },
      database,
      tokens: [...(listed ?? []), ...(fromFile ?? [])],
      bodyLimit: read('BODY_LIMIT', size, '1mb'),
      batchRows: read('BATCH_ROWS', integer('a number of rows from 1 to 1000', 1, 1_000), '256'),
      storeTimeout: read('STORE_TIMEOUT', time, '5s'),
      limits: {
        maxRequests: read('MAX_REQUESTS', integer('a number of requests from 1 to 1000000', 1, 1_000_000), '1000'),
        maxRequestBytes: read('MAX_REQUEST_BYTES', size, '64mb'),
      },
      logLevel: read('LOG_LEVEL', oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info'),
      // The rest is for requests in flight.
      shutdownDelay: Math.min(read('SHUTDOWN_DELAY', pause, '5s'), shutdownTimeout / 2),
      shutdownTimeout,
    };
  });
}

/** Reads what a migration needs. @throws ConfigError */
export function readDatabaseConfig(environment: Environment): DatabaseConfig {
  return checked(environment, databaseConfig);
}

function databaseConfig(read: Read): DatabaseConfig {
  const url = read('DATABASE_URL', postgresUrl);
  const poolSize = read('POOL_SIZE', integer('a number of connections from 1 to 1000', 1, 1_000), '10');
  const connectTimeout = read('CONNECT_TIMEOUT', time, '2s');
  const statementTimeout = read('STATEMENT_TIMEOUT', time, '1s');
  const idleTimeout = read('IDLE_TIMEOUT', time, '10s');
  const dataDir = read('DATA_DIR', text, './data');
  if (url === undefined) return { kind: 'embedded', dataDir };
  return { kind: 'postgres', url, poolSize, connectTimeout, statementTimeout, idleTimeout };
}

/** A value that breaks its rule is noted and read as undefined; `checked` throws before anyone can see that. */
interface Read {
  <T>(name: string, rule: Rule<T>, fallback: string): T;
  <T>(name: string, rule: Rule<T>): T | undefined;
}

function checked<T>(environment: Environment, build: (read: Read, problem: (line: string) => void) => T): T {
  const problems: string[] = [];
  const read = <V>(name: string, rule: Rule<V>, fallback?: string) => {
    const value = environment[name] || fallback;
    if (value === undefined) return undefined;
    const parsed = rule.parse(value);
    if (parsed === undefined) problems.push(`${name} must be ${rule.mustBe}`);
    return parsed;
  };
  const built = build(read as Read, (line) => problems.push(line));
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return built;
}
