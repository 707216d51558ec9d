import type { jwtTokens } from '../adapters/auth/jwt-tokens.ts';
import { namedToken } from '../adapters/auth/static-tokens.ts';
import type { PostgresOptions } from '../adapters/postgres/connections/pool.ts';
import { urlProblem } from '../adapters/postgres/connections/url.ts';
import { environment } from './environment.ts';
import { checked, type Reader, type Values } from './reader.ts';
import { MAX_REQUEST_BYTES, rules } from './rules.ts';
import { VARIABLES } from './variables.ts';
import { webhookEndpoints } from './webhooks.ts';

type DatabaseConfig =
  | ({ readonly kind: 'postgres' } & PostgresOptions)
  | { readonly kind: 'embedded'; readonly dataDir: string };

const TOKENS = ['ACCESS_TOKENS', 'ACCESS_TOKENS_FILE', 'READ_TOKENS', 'READ_TOKENS_FILE'];

/** Signed tokens need all of them. */
const SIGNED = ['JWT_JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE'];

export type Config = ReturnType<typeof readConfig>;

/** Milliseconds, or half of SHUTDOWN_TIMEOUT if that is less. */
const SHUTDOWN_DELAY = 5_000;

/**
 * Reads the whole configuration; a variable that is empty counts as not set.
 *
 * @throws Error with a line for each variable that is wrong, naming it and what it must be
 */
export function readConfig(source: NodeJS.ProcessEnv = environment()) {
  return checked(source, (reader) => {
    const values = reader.read(VARIABLES);
    const database = databaseConfig(values.database, reader);
    const tokens = tokenLists(values.tokens, reader);
    const jwt = jwtConfig(values.jwt, reader);
    const hasTokens = tokens.full.length > 0 || tokens.reading.length > 0 || jwt !== undefined;
    const config = {
      ...values,
      database,
      /** Accepted bearer tokens. */
      tokens,
      /** Whose signed tokens are accepted as well. */
      jwt,
      /** Where the service keeps a token of its own; undefined if it accepts configured ones instead. */
      ownTokenFolder: database.kind === 'embedded' && !hasTokens ? database.dataDir : undefined,
      tokenFiles: ['ACCESS_TOKENS_FILE', 'READ_TOKENS_FILE'].flatMap((name) => source[name] || []),
      /** Reads the accepted bearer tokens again. @throws Error as at the start */
      readTokens: () => checked(source, (again) => tokenLists(again.read(VARIABLES.tokens), again)),
      webhooks: webhookEndpoints(values.webhooks, reader.isSet, reader.problem),
      limits: { maxRequests: values.maxRequests, maxRequestBytes: MAX_REQUEST_BYTES },
      shutdownDelay: values.shutdownDelay ?? Math.min(SHUTDOWN_DELAY, values.shutdownTimeout / 2),
    };
    checkTogether(config, reader);
    return config;
  });
}

/** Reads what a command without the service needs: its database, perhaps with a role of its own. @throws Error */
export function readDatabaseConfig(source: NodeJS.ProcessEnv = environment()): DatabaseConfig {
  return checked(source, (reader) => {
    const values = reader.read(VARIABLES.database);
    return databaseConfig(values, reader, values.migrationUrl === undefined ? 'url' : 'migrationUrl');
  });
}

function databaseConfig(
  values: Values<typeof VARIABLES.database>,
  { problem }: Reader,
  key: 'url' | 'migrationUrl' = 'url',
): DatabaseConfig {
  const { [key]: url, dataDir, poolSize, statementTimeout } = values;
  if (url === undefined) return { kind: 'embedded', dataDir };
  const wrong = urlProblem(url);
  if (wrong !== undefined) problem(`${VARIABLES.database[key].name} ${wrong}`);
  return { kind: 'postgres', url, poolSize, statementTimeout };
}

/** Tokens that permit everything, and tokens that permit reading only, each perhaps with a name. */
function tokenLists(values: Values<typeof VARIABLES.tokens>, { problem }: Reader) {
  const full = [...values.full, ...values.fullFile];
  const reading = [...values.reading, ...values.readingFile];
  const bare = (list: readonly string[]) => new Set(list.map((configured) => namedToken(configured).token));
  if (!bare(full).isDisjointFrom(bare(reading))) {
    problem('a token of ACCESS_TOKENS or ACCESS_TOKENS_FILE must not be in READ_TOKENS or READ_TOKENS_FILE, too');
  }
  // The log would show one of the names, whoever sent the token.
  if ([full, reading].some((list) => new Set(list).size > bare(list).size)) {
    problem('each token must have the same name, or none, wherever the variables and files of tokens have it');
  }
  return { full, reading };
}

function jwtConfig(
  values: Values<typeof VARIABLES.jwt>,
  { isSet, problem }: Reader,
): Parameters<typeof jwtTokens>[0] | undefined {
  const { jwksUrl, issuer, audiences, allowHttp } = values;
  if (jwksUrl && !allowHttp && rules.httpsOrLoopbackUrl.parse(jwksUrl) === undefined) {
    problem(
      `JWT_JWKS_URL must be ${rules.httpsOrLoopbackUrl.mustBe}: JWT_ALLOW_HTTP=true permits private addresses, too`,
    );
  }
  const scopes = ['JWT_READ_SCOPE', 'JWT_WRITE_SCOPE'];
  if (jwksUrl && !scopes.some(isSet) && values.scopeClaims !== VARIABLES.jwt.scopeClaims.fallback) {
    problem(
      'JWT_READ_SCOPE or JWT_WRITE_SCOPE must be set too, since JWT_SCOPE_CLAIM is: without them, no scope is needed',
    );
  }
  if (jwksUrl && issuer && audiences) return { ...values, jwksUrl, issuer, audiences };
  const present = [...SIGNED, ...scopes].find(isSet);
  const missing = SIGNED.filter((name) => present && !isSet(name));
  for (const name of missing) problem(`${name} must be set too, since ${present} is`);
  return undefined;
}

/** Notes which variables contradict each other. */
function checkTogether(config: Config, { isSet, problem }: Reader): void {
  const { api, management, database, shutdownDelay, shutdownTimeout, jwt, webhooks } = config;
  const { httpsProxy } = config.proxy;
  if (isSet('DATABASE_URL') && ![...TOKENS, ...SIGNED].some(isSet)) {
    problem(
      `one of ${TOKENS.join(', ')}, JWT_JWKS_URL must be set when DATABASE_URL is: openssl rand -hex 32 makes a token`,
    );
  }
  if (isSet('MIGRATION_DATABASE_URL') && !isSet('DATABASE_URL')) {
    problem('DATABASE_URL must be set when MIGRATION_DATABASE_URL is: the service itself does not read the latter');
  }
  const hosts = [api.host, management.host];
  const overlap = api.host === management.host || ['0.0.0.0', '::'].some((every) => hosts.includes(every));
  if (api.port > 0 && api.port === management.port && overlap) {
    problem('MANAGEMENT_PORT must not be that of PORT, unless MANAGEMENT_HOST and HOST are different addresses');
  }
  if (api.reusePort && (process.platform !== 'linux' || api.port === 0 || database.kind !== 'postgres')) {
    problem('REUSE_PORT must be off, unless this is Linux, PORT is not 0 and DATABASE_URL is set');
  }
  // Otherwise it is for other programs, which take more than a URL.
  if (httpsProxy && (jwt || webhooks.length > 0) && rules.proxyUrl.parse(httpsProxy) === undefined) {
    problem(`HTTPS_PROXY must be ${rules.proxyUrl.mustBe}`);
  }
  if (shutdownDelay > shutdownTimeout / 2) {
    problem(
      'SHUTDOWN_DELAY must be at most half of SHUTDOWN_TIMEOUT, so that the requests in flight have the other half',
    );
  }
}
