import { type Rule, rules } from './rules.ts';
import { listFile } from './secret-file.ts';
import { tokens } from './tokens.ts';
import { webhookRules } from './webhooks.ts';

/** What the variable must be, its default, if it has one, and what the documents show as its default otherwise. */
type Variable = readonly [rule: Rule<unknown>, fallback?: string | undefined, shownDefault?: string];

/** Variables by name. */
export type Table = Readonly<Record<string, Variable>>;

/** The values of a table's variables. */
export type VariableValues<Entries extends Table> = {
  readonly [Name in keyof Entries]:
    | (Entries[Name][0] extends Rule<infer Value> ? Value : never)
    | (Entries[Name][1] extends string ? never : undefined);
};

/**
 * All variables that the service and the commands on its database read: `npm run docs` takes their names, order and
 * defaults into the documents. Times become milliseconds, sizes bytes.
 */
export const VARIABLES = {
  HOST: [rules.text, '127.0.0.1'],
  PORT: [rules.port, '3000'],
  REUSE_PORT: [rules.onOrOff, 'off'],
  BASE_URL: [rules.httpUrl, undefined, 'http://HOST:PORT'],
  CORS_ORIGINS: [rules.origins],
  PAGES: [rules.onOrOff, 'on'],
  MANAGEMENT_HOST: [rules.text, '127.0.0.1'],
  MANAGEMENT_PORT: [rules.port, '3001'],
  DATABASE_URL: [rules.text],
  MIGRATION_DATABASE_URL: [rules.text, undefined, 'DATABASE_URL'],
  POOL_SIZE: [rules.integer('a number of connections', 1, 1_000), '10'],
  STATEMENT_TIMEOUT: [rules.time, '1s'],
  DATA_DIR: [rules.text, './data'],
  STORE_TIMEOUT: [rules.time, '5s'],
  ACCESS_TOKENS: [tokens],
  ACCESS_TOKENS_FILE: [listFile(tokens)],
  READ_TOKENS: [tokens],
  READ_TOKENS_FILE: [listFile(tokens)],
  JWT_JWKS_URL: [rules.httpUrl],
  JWT_ISSUER: [rules.issuer],
  JWT_AUDIENCE: [rules.audiences],
  JWT_ALLOW_HTTP: [rules.trueOrFalse, 'false'],
  JWT_SCOPE_CLAIM: [rules.claims, 'scope,scp'],
  JWT_READ_SCOPE: [rules.scope],
  JWT_WRITE_SCOPE: [rules.scope],
  WEBHOOK_URLS: [webhookRules.urls],
  WEBHOOK_SECRET: [webhookRules.secrets],
  WEBHOOK_SECRET_FILE: [listFile(webhookRules.secrets)],
  WEBHOOKS_FILE: [listFile(webhookRules.lines)],
  WEBHOOK_ALLOW_HTTP: [rules.trueOrFalse, 'false'],
  HTTPS_PROXY: [rules.text],
  NO_PROXY: [rules.text],
  BODY_LIMIT: [rules.size, '1mb'],
  MAX_REQUESTS: [rules.integer('a number of requests', 1, 1_000_000), '1000'],
  MAX_STREAMS: [rules.integer('a number of lists', 1, 1_000), '4'],
  MAX_FOLLOWERS: [rules.integer('a number of requests', 1, 1_000_000), '500'],
  MAX_CONNECTIONS: [rules.integer('a number of connections', 1, 1_000_000), '10000'],
  KEEP_ALIVE_TIMEOUT: [rules.time, '75s'],
  LOG_LEVEL: [rules.oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info'],
  SHUTDOWN_DELAY: [rules.timeOrZero, '5s'],
  SHUTDOWN_TIMEOUT: [rules.time, '10s'],
} as const satisfies Table;
