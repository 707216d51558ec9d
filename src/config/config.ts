import { join } from 'node:path';
import { canonicalUrl, urlProblem } from './database-url.ts';
import { environment } from './environment.ts';
import { readVariables } from './reader.ts';
import { type Check, rules } from './rules.ts';
import { type TokenLists, tokenLists } from './tokens.ts';
import { VARIABLES, type VariableValues } from './variables.ts';
import { configuredEndpoints, type Endpoint } from './webhooks.ts';

type DatabaseConfig =
  | { readonly kind: 'postgres'; readonly url: string; readonly poolSize: number; readonly statementTimeout: number }
  | { readonly kind: 'embedded'; readonly dataDir: string };

interface JwtConfig {
  readonly jwksUrl: string;
  readonly allowHttp: boolean;
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly scopeClaims: readonly string[];
  readonly readScope: string | undefined;
  readonly writeScope: string | undefined;
}

const { DATABASE_URL, MIGRATION_DATABASE_URL, POOL_SIZE, STATEMENT_TIMEOUT, DATA_DIR } = VARIABLES;
const DATABASE = { DATABASE_URL, MIGRATION_DATABASE_URL, POOL_SIZE, STATEMENT_TIMEOUT, DATA_DIR };

const { ACCESS_TOKENS, ACCESS_TOKENS_FILE, READ_TOKENS, READ_TOKENS_FILE } = VARIABLES;
const TOKENS = { ACCESS_TOKENS, ACCESS_TOKENS_FILE, READ_TOKENS, READ_TOKENS_FILE };

/** The values of the variables by their names, and what several of them say together. */
export interface Config extends Omit<VariableValues<typeof VARIABLES>, keyof typeof TOKENS> {
  readonly database: DatabaseConfig;
  /** The files with tokens, which may change while the service runs. */
  readonly tokenFiles: readonly string[];
  /** Reads the accepted bearer tokens. @throws Error as at the start */
  readonly readTokens: () => TokenLists;
  /** Whose signed tokens are accepted as well. */
  readonly jwt: JwtConfig | undefined;
  /** The file in which the service keeps a token of its own; undefined if it accepts configured ones instead. */
  readonly ownTokenFile: string | undefined;
  readonly webhooks: readonly Endpoint[];
  /** The proxy for https:// URLs of webhooks and keys, and the hosts that are reached without it. */
  readonly proxy: { readonly httpsProxy: string; readonly noProxy: string };
}

/** Signed tokens need all of them. */
const SIGNED = ['JWT_JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE'];

/** Without any of these, the service accepts a token of its own. */
const TOKEN_SOURCES = [...Object.keys(TOKENS), ...SIGNED];

/**
 * Reads the whole configuration; a variable that is empty counts as not set.
 *
 * @throws Error with a line for each variable that is wrong, naming it and what it must be
 */
export function readConfig(source: NodeJS.ProcessEnv = environment()): Config {
  return readVariables(VARIABLES, source, (values, check) => {
    const { SHUTDOWN_DELAY: delay, SHUTDOWN_TIMEOUT: timeout } = values;
    const database = databaseConfig(values, 'DATABASE_URL', check);
    tokenLists(values, check);
    const keepsToken = database.kind === 'embedded' && !TOKEN_SOURCES.some(check.isSet);
    const config = {
      ...values,
      SHUTDOWN_DELAY: check.isSet('SHUTDOWN_DELAY') ? delay : Math.min(delay, timeout / 2),
      database,
      tokenFiles: ['ACCESS_TOKENS_FILE', 'READ_TOKENS_FILE'].flatMap((name) => source[name] || []),
      readTokens: () => readVariables(TOKENS, source, tokenLists),
      jwt: jwtConfig(values, check),
      ownTokenFile: keepsToken ? join(database.dataDir, 'access-token') : undefined,
      webhooks: configuredEndpoints(values, check),
      proxy: { httpsProxy: values.HTTPS_PROXY ?? '', noProxy: values.NO_PROXY ?? '' },
    };
    checkTogether(config, check);
    return config;
  });
}

/** Reads what a command without the service needs: its database, perhaps with a role of its own. @throws Error */
export function readDatabaseConfig(source: NodeJS.ProcessEnv = environment()): DatabaseConfig {
  return readVariables(DATABASE, source, (values, check) => {
    const name = check.isSet('MIGRATION_DATABASE_URL') ? 'MIGRATION_DATABASE_URL' : 'DATABASE_URL';
    return databaseConfig(values, name, check);
  });
}

function databaseConfig(
  values: VariableValues<typeof DATABASE>,
  name: 'DATABASE_URL' | 'MIGRATION_DATABASE_URL',
  { problem }: Check,
): DatabaseConfig {
  const { [name]: url, DATA_DIR: dataDir, POOL_SIZE: poolSize, STATEMENT_TIMEOUT: statementTimeout } = values;
  if (url === undefined) return { kind: 'embedded', dataDir };
  const fault = urlProblem(url);
  if (fault !== undefined) problem(`${name} ${fault}`);
  return { kind: 'postgres', url: canonicalUrl(url), poolSize, statementTimeout };
}

function jwtConfig(values: VariableValues<typeof VARIABLES>, { isSet, problem }: Check): JwtConfig | undefined {
  const { JWT_JWKS_URL: jwksUrl, JWT_ISSUER: issuer, JWT_AUDIENCE: audiences, JWT_ALLOW_HTTP: allowHttp } = values;
  const { JWT_SCOPE_CLAIM: scopeClaims, JWT_READ_SCOPE: readScope, JWT_WRITE_SCOPE: writeScope } = values;
  if (jwksUrl && !allowHttp && rules.httpsOrLoopbackUrl.parse(jwksUrl) === undefined) {
    problem(
      `JWT_JWKS_URL must be ${rules.httpsOrLoopbackUrl.mustBe}: JWT_ALLOW_HTTP=true permits private addresses, too`,
    );
  }
  const scopes = ['JWT_READ_SCOPE', 'JWT_WRITE_SCOPE'];
  if (jwksUrl && !scopes.some(isSet) && scopeClaims.join() !== VARIABLES.JWT_SCOPE_CLAIM[1]) {
    problem(
      'JWT_READ_SCOPE or JWT_WRITE_SCOPE must be set too, since JWT_SCOPE_CLAIM is: without them, no scope is needed',
    );
  }
  if (jwksUrl && issuer && audiences) {
    return { jwksUrl, allowHttp, issuer, audiences, scopeClaims, readScope, writeScope };
  }
  const setName = [...SIGNED, ...scopes].find(isSet);
  const missingNames = SIGNED.filter((name) => setName && !isSet(name));
  for (const name of missingNames) problem(`${name} must be set too, since ${setName} is`);
  return undefined;
}

/** Reports variables that contradict each other. */
function checkTogether(config: Config, { isSet, problem }: Check): void {
  const { HOST, PORT, MANAGEMENT_HOST, MANAGEMENT_PORT, HTTPS_PROXY } = config;
  if (isSet('DATABASE_URL') && !TOKEN_SOURCES.some(isSet)) {
    problem(
      `one of ${Object.keys(TOKENS).join(', ')}, JWT_JWKS_URL must be set when DATABASE_URL is: openssl rand -hex 32 makes a token`,
    );
  }
  if (isSet('MIGRATION_DATABASE_URL') && !isSet('DATABASE_URL')) {
    problem('DATABASE_URL must be set when MIGRATION_DATABASE_URL is: the service itself does not read the latter');
  }
  const overlap = HOST === MANAGEMENT_HOST || [HOST, MANAGEMENT_HOST].some((host) => ['0.0.0.0', '::'].includes(host));
  if (PORT > 0 && PORT === MANAGEMENT_PORT && overlap) {
    problem('MANAGEMENT_PORT must differ from PORT, unless MANAGEMENT_HOST and HOST are different addresses');
  }
  if (config.REUSE_PORT && (process.platform !== 'linux' || PORT === 0 || config.database.kind !== 'postgres')) {
    problem('REUSE_PORT must be off, unless this is Linux, PORT is not 0 and DATABASE_URL is set');
  }
  // Otherwise it is for other programs, which take more than a URL.
  if (HTTPS_PROXY && (config.jwt || config.webhooks.length > 0) && rules.proxyUrl.parse(HTTPS_PROXY) === undefined) {
    problem(`HTTPS_PROXY must be ${rules.proxyUrl.mustBe}`);
  }
  if (config.SHUTDOWN_DELAY > config.SHUTDOWN_TIMEOUT / 2) {
    problem('SHUTDOWN_DELAY must be at most half of SHUTDOWN_TIMEOUT: the requests in flight have the other half');
  }
}
