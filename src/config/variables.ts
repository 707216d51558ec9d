import { type Rule, rules } from './rules.ts';
import { listFile } from './secret-file.ts';
import { webhookRules } from './webhooks.ts';

/** A variable: its name, what it must be, and its value while it is not set. */
export interface Variable<Value> {
  readonly name: string;
  readonly rule: Rule<Value>;
  readonly fallback: Value;
  /** The default as the documents show it. */
  readonly text?: string | undefined;
}

/** Variables in the shape of the configuration. */
export interface Table {
  readonly [key: string]: Variable<unknown> | Table;
}

function variable<Value>(name: string, rule: Rule<Value>, text: string): Variable<Value> {
  const fallback = rule.parse(text);
  if (fallback === undefined) throw new TypeError(`the default of ${name} must be ${rule.mustBe}`);
  return { name, rule, fallback, text };
}

/** @param text what the documents show as its default */
function optional<Value>(name: string, rule: Rule<Value>, text?: string): Variable<Value | undefined> {
  return { name, rule, fallback: undefined, text };
}

function list<Item>(name: string, rule: Rule<readonly Item[]>): Variable<readonly Item[]> {
  return { name, rule, fallback: [] };
}

/**
 * All variables that the service and the commands on its database read, in the shape of the configuration: `npm run docs`
 * takes their names, order and defaults into the documents. Times are in milliseconds, sizes in bytes.
 */
export const VARIABLES = {
  api: {
    host: variable('HOST', rules.text, '127.0.0.1'),
    port: variable('PORT', rules.port, '3000'),
    /** Whether other instances listen at the port, too. */
    reusePort: variable('REUSE_PORT', rules.flag('on', 'off'), 'off'),
    baseUrl: optional('BASE_URL', rules.httpUrl, 'http://HOST:PORT'),
    /** Whose pages may use the API from a browser; `pages` are the service's own, at / and /docs. */
    corsOrigins: list('CORS_ORIGINS', rules.origins),
    pages: variable('PAGES', rules.flag('on', 'off'), 'on'),
  },
  management: {
    host: variable('MANAGEMENT_HOST', rules.text, '127.0.0.1'),
    port: variable('MANAGEMENT_PORT', rules.port, '3001'),
  },
  database: {
    url: optional('DATABASE_URL', rules.text),
    migrationUrl: optional('MIGRATION_DATABASE_URL', rules.text, 'DATABASE_URL'),
    poolSize: variable('POOL_SIZE', rules.integer('a number of connections', 1, 1_000), '10'),
    statementTimeout: variable('STATEMENT_TIMEOUT', rules.time, '1s'),
    dataDir: variable('DATA_DIR', rules.text, './data'),
  },
  /** How long a request may wait for the store. */
  storeTimeout: variable('STORE_TIMEOUT', rules.time, '5s'),
  tokens: {
    full: list('ACCESS_TOKENS', rules.tokens),
    fullFile: list('ACCESS_TOKENS_FILE', listFile(rules.tokens)),
    reading: list('READ_TOKENS', rules.tokens),
    readingFile: list('READ_TOKENS_FILE', listFile(rules.tokens)),
  },
  jwt: {
    jwksUrl: optional('JWT_JWKS_URL', rules.httpUrl),
    issuer: optional('JWT_ISSUER', rules.issuer),
    audiences: optional('JWT_AUDIENCE', rules.names('audience')),
    allowHttp: variable('JWT_ALLOW_HTTP', rules.flag('true', 'false'), 'false'),
    scopeClaims: variable('JWT_SCOPE_CLAIM', rules.names('claim'), 'scope,scp'),
    readScope: optional('JWT_READ_SCOPE', rules.scope),
    writeScope: optional('JWT_WRITE_SCOPE', rules.scope),
  },
  webhooks: {
    urls: list('WEBHOOK_URLS', webhookRules.urls),
    secrets: list('WEBHOOK_SECRET', webhookRules.secrets),
    secretFile: list('WEBHOOK_SECRET_FILE', listFile(webhookRules.secrets)),
    file: list('WEBHOOKS_FILE', listFile(webhookRules.lines)),
    allowHttp: variable('WEBHOOK_ALLOW_HTTP', rules.flag('true', 'false'), 'false'),
  },
  /** Through which https:// URLs are requested, of webhooks and of keys, or not used; the names are EnvHttpProxyAgent's. */
  proxy: {
    httpsProxy: variable('HTTPS_PROXY', rules.text, ''),
    noProxy: variable('NO_PROXY', rules.text, ''),
  },
  bodyLimit: variable('BODY_LIMIT', rules.size, '1mb'),
  /** Requests at once whose body has arrived, for reads and for writes each. */
  maxRequests: variable('MAX_REQUESTS', rules.integer('a number of requests', 1, 1_000_000), '1000'),
  /** Lists that are streamed at once. */
  maxStreams: variable('MAX_STREAMS', rules.integer('a number of lists', 1, 1_000), '4'),
  /** Requests for changes at once, including those that wait. */
  maxFollowers: variable('MAX_FOLLOWERS', rules.integer('a number of requests', 1, 1_000_000), '500'),
  /** Connections to the API that may be open at once. */
  maxConnections: variable('MAX_CONNECTIONS', rules.integer('a number of connections', 1, 1_000_000), '10000'),
  /** How long a connection to the API may be idle. */
  keepAliveTimeout: variable('KEEP_ALIVE_TIMEOUT', rules.time, '75s'),
  logLevel: variable('LOG_LEVEL', rules.oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info'),
  /** How long a stopping service still accepts connections; the remaining time is for requests in flight. */
  shutdownDelay: optional('SHUTDOWN_DELAY', rules.timeOrZero, '5s'),
  /** How long stopping may take, including the delay. */
  shutdownTimeout: variable('SHUTDOWN_TIMEOUT', rules.time, '10s'),
} satisfies Table;
