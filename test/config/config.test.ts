import { appendFileSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, jest, test } from '@jest/globals';
import { readConfig, readDatabaseConfig } from '../../src/config/config.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { configFiles, mistakes } from '../support/config-files.ts';
import { atEnd } from '../support/lifetimes.ts';
import { makePipe } from '../support/programs/named-pipe.ts';
import { projectFile } from '../support/service-process.ts';

const TOKEN = 'token-for-the-tests';
const OTHER_TOKEN = 'another-token~for+the/tests==';
const READ_TOKEN = 'read-token-for-the-tests';
const DATABASE_URL = 'postgres://plants:database-password@db.example:5433/plants?sslmode=verify-full';
const THIS = import.meta.filename;
const JWT = { JWT_JWKS_URL: 'https://login.example/keys', JWT_ISSUER: 'login', JWT_AUDIENCE: 'plants' };

const { folder, file } = configFiles();

/** By variable, as the documents have them. */
const defaults = {
  ...{ HOST: '127.0.0.1', PORT: 3000, REUSE_PORT: false, PAGES: true, MANAGEMENT_HOST: '127.0.0.1' },
  ...{ MANAGEMENT_PORT: 3001, BODY_LIMIT: 1024 ** 2, STORE_TIMEOUT: 5_000, MAX_REQUESTS: 1_000, MAX_STREAMS: 4 },
  ...{ MAX_FOLLOWERS: 500, MAX_CONNECTIONS: 10_000, KEEP_ALIVE_TIMEOUT: 75_000, LOG_LEVEL: 'info' },
  ...{ SHUTDOWN_DELAY: 5_000, SHUTDOWN_TIMEOUT: 10_000 },
};

const noTokens = { tokenFiles: [], jwt: undefined };

test('has a default for everything, and an empty variable is one that is not set', () => {
  const empty = Object.fromEntries([...Object.keys(VARIABLES), 'DATABSE_URL'].map((name) => [name, '']));
  const database = { kind: 'embedded', dataDir: './data' };
  const alone = { database, ownTokenFile: 'data/access-token', webhooks: [], proxy: { httpsProxy: '', noProxy: '' } };
  for (const environment of [{}, empty]) {
    expect(readConfig(environment)).toMatchObject({ ...defaults, ...noTokens, ...alone });
    expect(readConfig(environment)).toMatchObject({ BASE_URL: undefined, CORS_ORIGINS: undefined });
    expect(readConfig(environment).readTokens()).toEqual({ full: [], reading: [] });
  }
});

test('reads every variable', () => {
  const environment = {
    ...{ HOST: '::', PORT: '4000', PAGES: 'off', BASE_URL: 'https://plants.example', LOG_LEVEL: 'silent' },
    CORS_ORIGINS: 'https://a, capacitor://localhost',
    ...{ MANAGEMENT_HOST: '0.0.0.0', MANAGEMENT_PORT: '65535' },
    ...{ BODY_LIMIT: '64KB', MAX_REQUESTS: '20', MAX_STREAMS: '7', MAX_FOLLOWERS: '70', MAX_CONNECTIONS: '30' },
    ...{ KEEP_ALIVE_TIMEOUT: '60m', STORE_TIMEOUT: '3s', SHUTDOWN_TIMEOUT: '2m', SHUTDOWN_DELAY: '1m' },
    ...{ HTTPS_PROXY: 'http://user:p%40ss@proxy:3128', NO_PROXY: '.internal, 10.0.0.1' },
  };
  const { readTokens, ...config } = readConfig({ ...environment, ACCESS_TOKENS: TOKEN, READ_TOKENS: READ_TOKEN });
  expect(readTokens()).toEqual({ full: [{ token: TOKEN }], reading: [{ token: READ_TOKEN }] });
  expect(config).toMatchObject({
    ...{ ...environment, PORT: 4000, PAGES: false, MANAGEMENT_PORT: 65_535 },
    CORS_ORIGINS: ['https://a', 'capacitor://localhost'],
    ...{ BODY_LIMIT: 64 * 1024, MAX_REQUESTS: 20, MAX_STREAMS: 7, MAX_FOLLOWERS: 70, MAX_CONNECTIONS: 30 },
    ...{ KEEP_ALIVE_TIMEOUT: 3_600_000, STORE_TIMEOUT: 3_000, SHUTDOWN_TIMEOUT: 120_000, SHUTDOWN_DELAY: 60_000 },
    ownTokenFile: undefined,
    proxy: { httpsProxy: environment.HTTPS_PROXY, noProxy: environment.NO_PROXY },
  });
  expect(readConfig({ CORS_ORIGINS: '*' }).CORS_ORIGINS).toEqual(['*']);
});

test('reads the database, for the service and for migrations', () => {
  const environment = { DATABASE_URL, POOL_SIZE: '1000', STATEMENT_TIMEOUT: '200ms', ACCESS_TOKENS: TOKEN };
  const database = { kind: 'postgres', url: DATABASE_URL, statementTimeout: 200, poolSize: 1_000 };
  expect(readConfig(environment)).toMatchObject({ database });
  expect(readDatabaseConfig(environment)).toStrictEqual(database);
});

test.each<[names: string, rule: string, ...values: string[]]>([
  ['PORT MANAGEMENT_PORT', 'a port number from 0 to 65535', '-1', '65536', '80.5', '0x50', 'http', ' 80'],
  ['BASE_URL', 'http:// or https:// URL', 'plants.example', 'ftp://plants.example', 'https://user:secret@a.example'],
  ['CORS_ORIGINS', 'origins', 'a.example', 'data:a', 'null', 'https://A.example', 'https://*.example', 'app://a@b'],
  ['CORS_ORIGINS', 'origins', 'http://a/', 'app://a/path', 'https://a:443', 'http://a,', 'http://a,*'],
  ['REUSE_PORT PAGES', 'one of on, off', 'true', 'ON'],
  ['WEBHOOK_ALLOW_HTTP JWT_ALLOW_HTTP', 'one of true, false', 'yes'],
  ['LOG_LEVEL', 'one of trace, debug, info', 'loud', 'INFO'],
  ['POOL_SIZE', 'a number of connections from 1 to 1000', '0', '1001', '-1', 'ten'],
  ['MAX_STREAMS', 'a number of lists from 1 to 1000', '0', '1001'],
  ['MAX_REQUESTS MAX_FOLLOWERS', 'a number of requests from 1 to 1000000', '0', '1000001'],
  ['MAX_CONNECTIONS', 'a number of connections from 1 to 1000000', '0', '1000001'],
  ['BODY_LIMIT', 'a size of 64mb at most', '0mb', '1', '1.5mb', '-1kb', '1gb', 'mb', '65mb', '65537kb'],
  ['STATEMENT_TIMEOUT STORE_TIMEOUT', 'a time of 1 day at most', '0s', 'forever'],
  // The last one is longer than a timer can wait.
  ['SHUTDOWN_TIMEOUT', 'a time of 1 day at most', '0s', '10', '1h', '1e3ms', 's', '35792m'],
  ['KEEP_ALIVE_TIMEOUT', 'a time of 1 day at most', '0s', '75'],
  ['HTTPS_PROXY', 'URL of a proxy', 'proxy.example:3128', 'socks5://user:secret@proxy.example', '//proxy.example'],
  ['SHUTDOWN_DELAY', '0 or a time of 1 day at most', '-1'],
  ['SHUTDOWN_DELAY', 'at most half of SHUTDOWN_TIMEOUT', '8s'],
  ['JWT_READ_SCOPE JWT_WRITE_SCOPE', 'one scope', 'a b', ' a', 'a,b', 'pl\u00E4nts', 'a"b', 'a\\b', 'a\n'],
  ['JWT_ISSUER', 'not a list', 'a,b', 'a b', '["a"],', 'a\n'],
  ['JWT_AUDIENCE JWT_SCOPE_CLAIM', 'without spaces, quotation marks and brackets', 'a b', '["a","b"]', ','],
  ['JWT_JWKS_URL', 'https:// URL', 'http://a.example/', 'http://localhost.example/', 'http://127.example/', 'keys'],
  ['DATABASE_URL', 'URL like postgres://user:password@host:5432/database', 'db.example', 'mysql://user:secret@a,b/x'],
  ['ACCESS_TOKENS READ_TOKENS', '16 letters', 'fifteen-letters', `anna:fifteen-letters`, `Anna:${TOKEN}`, ','],
  ['ACCESS_TOKENS READ_TOKENS', '16 letters', `:${TOKEN}`, `${TOKEN} ${TOKEN}`, `${TOKEN},"in-quotes"`],
])('refuses a bad %s, which must be %s', (names, rule, ...values) => {
  for (const [name, value] of names.split(' ').flatMap((name) => values.map((value) => [name, value] as const))) {
    const [line, ...others] = mistakes({ ACCESS_TOKENS: TOKEN, ...JWT, [name]: value });
    expect([line, ...others]).toEqual([expect.stringMatching(new RegExp(`^${name} must be .*${RegExp.escape(rule)}`))]);
    // It could be a token, or have one in it.
    expect(line).not.toMatch(/token-for|in-quotes|fifteen|secret/);
  }
});

test.each(['proxy.example:3128', 'socks5h://proxy.example', ''])('leaves HTTPS_PROXY=%s to others', (HTTPS_PROXY) => {
  expect(() => readConfig({ HTTPS_PROXY })).not.toThrow();
});

test.each<[rule: string, ...urls: string[]]>([
  ['with one host', 'one:1,two:2/x', 'one,two:port/x', 'user:se,cret@[::1],two/x', ',two/x', 'db:port/x', 'db/x#y'],
  ['percent-encoded', 'user:se?cret@db/x', 'user:se@cret@db/x', 'user:1/secret@db/x', 'user:1#secret@db/x'],
  ['percent-encoded', 'user:1?secret=x@db/x', 'user:secret%E0%A4@db/x', 'me@tenant:secret@db/x', 'db/pl@nts'],
  ['have an sslmode of disable, ', 'db/x?sslmode=verify_full', 'db/x?sslmode=disable&sslmode='],
  ['with sslrootcert=system', 'db/x?sslrootcert=system&sslmode=disable', 'db/x?sslmode=no-verify&sslrootcert=system'],
  ['have for TLS only', 'db/x?ssl=require', 'db/x?SSLMODE=verify-full', 'db/x?ssl_mode=x', 'db/x?sslrootcert='],
  ["name files that can be read: ENOENT: no such file or directory, open '/no/file'", 'db/x?sslrootcert=/no/file'],
  ['name files that can be read: EISDIR', 'db/x?sslkey=/'],
  [
    'have a PEM certificate as its sslrootcert',
    'db/x?sslrootcert=/dev/null',
    ...['cert', 'key', 'rootcert'].map((name) => `db/x?ssl${name}=${THIS}`),
  ],
])('refuses a bad DATABASE_URL, without repeating it, which must %s', (rule, ...urls) => {
  for (const url of urls) {
    const refusal = new RegExp(`^DATABASE_URL must (?!.*cret).*${RegExp.escape(rule)}`);
    const lines = mistakes({ ACCESS_TOKENS: TOKEN, DATABASE_URL: `postgres://${url}` });
    expect([url, ...lines]).toEqual([url, expect.stringMatching(refusal)]);
  }
});

test('names quotes and comments that docker run --env-file leaves, without the value', () => {
  for (const name of ['DATABASE_URL', 'ACCESS_TOKENS', 'DATA_DIR', 'POOL_SIZE']) {
    const line = expect.stringMatching(`^${name} must not have quotes .* docker run --env-file keeps them$`);
    for (const value of ['"8"', " '8' ", '8 # a comment', '"8" # a comment']) {
      expect(mistakes({ ACCESS_TOKENS: TOKEN, [name]: value })).toEqual([line]);
    }
  }
});

test('two servers may share a port at different addresses, or if it is a free one', () => {
  const rule = expect.stringMatching(/^MANAGEMENT_PORT must differ from PORT/);
  expect(mistakes({ PORT: '4000', MANAGEMENT_PORT: '4000' })).toEqual([rule]);
  for (const HOST of ['', '0.0.0.0', '::']) expect(mistakes({ PORT: '3001', HOST })).toEqual([rule]);
  expect(() => readConfig({ PORT: '3001', MANAGEMENT_HOST: '10.0.0.1' })).not.toThrow();
  expect(() => readConfig({ PORT: '0', MANAGEMENT_PORT: '0' })).not.toThrow();
});

describe('a variable that is nearly one of ours', () => {
  test.each([
    ['DATABASE_URL', 'DATABSE_URL', 'DATABASE_ULR', 'database_url'],
    ['MIGRATION_DATABASE_URL', 'MIGRATION_DATABASEURL'],
    ['ACCESS_TOKENS', 'ACCESS_TOKEN'],
    ['READ_TOKENS_FILE', 'READ_TOKENS_FIEL'],
    ['DATA_DIR', 'DATA_DIRS', 'DATADIR'],
    ['PLANT_STORE_URL', 'PLANTSTORE_URL'],
  ])('is refused if it may decide on the store or on tokens, also by migrations: %s', (ours, ...names) => {
    for (const name of names) {
      const line = expect.stringMatching(`^${name} is not a variable .* did you mean ${ours}\\? .* unset it here$`);
      for (const read of [readConfig, readDatabaseConfig]) expect(mistakes({ [name]: TOKEN }, read)).toEqual([line]);
    }
  });

  test('is none of those that other programs set', () => {
    // The nearest to ours, of Kubernetes, Postgres, npm, CI and platforms.
    const theirs = `LOGLEVEL Port https_proxy DATABASE_HOST DATABASE_NAME DATABASE_USER DATABASE_PORT DATABASE_PASSWORD DATA_PORT
      POSTGRES_URL XDG_DATA_DIRS NPM_TOKEN PGDATA PGDATABASE CI_JOB_JWT BUILDKITE_AGENT_ACCESS_TOKEN DATABASE_PUBLIC_URL
      DATABASE_URL_UNPOOLED DIRECT_DATABASE_URL TEST_DATABASE_URL NOMAD_TOKEN DATABASE_CONNECTION_POOL_URL`;
    const names = theirs.trim().split(/\s+/);
    expect(() => readConfig(Object.fromEntries(names.map((name) => [name, 'x'])))).not.toThrow();
  });
});

test('lists all mistakes at once, each once, and shows no token and no password', () => {
  const wrong = {
    ...{ PORT: 'http', DATABASE_ULR: DATABASE_URL, DATABASE_URL: DATABASE_URL.replace('5433', 'port'), POOL_SIZE: '0' },
    ...{ ACCESS_TOKENS: `${TOKEN},short-one`, ACCESS_TOKENS_FILE: file('secrets', `${OTHER_TOKEN}\nshort-two`) },
    ...{ READ_TOKENS: `${READ_TOKEN},short-three`, WEBHOOK_URLS: 'hooks.example', WEBHOOK_SECRET: 'whsec_short' },
  };
  const lines = mistakes(wrong);
  const variables = (all: readonly string[]) => all.map((line) => line.split(' ', 1)[0]).toSorted();
  expect(variables(lines)).toEqual(Object.keys(wrong).toSorted());
  expect(lines.join('\n')).not.toMatch(/for-the-tests|another-token|short|database-password/);
  expect(variables(mistakes({ POOL_SIZE: '0', PORT: 'http' }, readDatabaseConfig))).toEqual(['POOL_SIZE']);
});

test.each([
  'postgres://me%40tenant:p%40ss%2Fword%23%3F%25@one/pl%40nts',
  'postgres://one/plants?user=me%40tenant&password=p%40ss/word&pgbouncer=true',
  'postgresql://user:pa,ss@[::1]:5432/plants?port=5433&sslmode=verify-full',
  // Of Neon, Supabase, Cloud SQL and libpq.
  'postgresql://owner:npg_x@ep-one-pooler.eu-central-1.aws.neon.tech/neondb?sslmode=require&channel_binding=require',
  'postgres://owner:npg_x@ep-one.neon.tech/neondb?options=endpoint%3Dep-one&application_name=plants&connect_timeout=10',
  'postgresql://postgres.abcdefgh:secret@aws-0-eu-central-1.pooler.supabase.com:6543/postgres',
  'postgres://user:pass@/plants?host=/cloudsql/project:region:instance',
  'postgres://user:pass@%2Fcloudsql%2Fproject%3Aregion%3Ainstance/plants',
  'postgres://db.example/plants?sslrootcert=system',
])('takes %s for a DATABASE_URL, of the service and of migrations', (url) => {
  const checked = url.replace(/sslrootcert=system|sslmode=require/, 'sslmode=verify-full');
  expect(readConfig({ DATABASE_URL: url, ACCESS_TOKENS: TOKEN })).toMatchObject({ database: { url: checked } });
  expect(readDatabaseConfig({ MIGRATION_DATABASE_URL: url })).toMatchObject({ url: checked });
});

test('takes require, prefer and verify-ca for verify-full; the driver does not warn', () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  for (const mode of ['require', 'prefer', 'verify-ca']) {
    const config = readDatabaseConfig({ DATABASE_URL: `postgres://db.example/plants?sslmode=${mode}` });
    expect(config).toMatchObject({ url: 'postgres://db.example/plants?sslmode=verify-full' });
  }
  expect(warn).not.toHaveBeenCalled();
  warn.mockRestore();
});

test('gives migrations their own URL, and starts no empty store without the other', () => {
  const MIGRATION_DATABASE_URL = 'postgres://owner@db.example/plants';
  expect(readDatabaseConfig({ MIGRATION_DATABASE_URL, DATABASE_URL })).toMatchObject({ url: MIGRATION_DATABASE_URL });
  expect(readDatabaseConfig({ MIGRATION_DATABASE_URL: '', DATABASE_URL })).toMatchObject({ url: DATABASE_URL });
  const missing = expect.stringMatching(/^DATABASE_URL must be set when MIGRATION_DATABASE_URL is/);
  expect(mistakes({ MIGRATION_DATABASE_URL })).toEqual([missing]);
  const wrong = mistakes({ MIGRATION_DATABASE_URL: 'db.example', DATABASE_URL }, readDatabaseConfig);
  expect(wrong).toEqual([expect.stringMatching(/^MIGRATION_DATABASE_URL must be a URL like/)]);
});

test('instances that share a port need Linux, one port and a Postgres', () => {
  const shared = { REUSE_PORT: 'on', DATABASE_URL, ACCESS_TOKENS: TOKEN };
  expect(readConfig(shared).REUSE_PORT).toBe(true);
  expect(readConfig({ REUSE_PORT: 'off', PORT: '0' }).REUSE_PORT).toBe(false);
  const rule = 'REUSE_PORT must be off, unless this is Linux, PORT is not 0 and DATABASE_URL is set';
  for (const wrong of [{ DATABASE_URL: '' }, { PORT: '0' }]) expect(mistakes({ ...shared, ...wrong })).toEqual([rule]);
  const { platform } = process;
  atEnd(() => Object.defineProperty(process, 'platform', { value: platform }));
  Object.defineProperty(process, 'platform', { value: 'darwin' });
  expect(mistakes(shared)).toEqual([rule]);
});

const GONE = ['CONNECT_TIMEOUT', 'IDLE_TIMEOUT', 'BATCH_ROWS', 'MAX_REQUEST_BYTES'];

test.each(GONE)('%s, which is gone, stops the start, and docs/upgrading.md says what holds now', (name) => {
  const line = expect.stringMatching(`^${name} is no longer a variable of Plant Store: unset it .docs/upgrading.md.$`);
  for (const read of [readConfig, readDatabaseConfig]) expect(mistakes({ [name]: '1' }, read)).toEqual([line]);
  expect(readFileSync(projectFile('docs/upgrading.md'), 'utf8')).toMatch(`| ${name} |`);
});

describe('access tokens', () => {
  test('are required with a DATABASE_URL, even a bad one, except by migrations', () => {
    const required = expect.stringMatching(/^one of ACCESS_TOKENS, .*, JWT_JWKS_URL must be set when DATABASE_URL is/);
    expect(mistakes({ DATABASE_URL })).toEqual([required]);
    expect(mistakes({ DATABASE_URL: 'db.example' })).toEqual([expect.stringMatching(/^DATABASE_URL must/), required]);
    expect(mistakes({ DATABASE_URL, ACCESS_TOKENS: 'short' })).toEqual([expect.stringMatching(/^ACCESS_TOKENS must/)]);
    expect(readDatabaseConfig({ DATABASE_URL })).toMatchObject({ kind: 'postgres', url: DATABASE_URL });
  });

  test.each([
    ['commas and spaces', ` ${TOKEN} , ${OTHER_TOKEN},`],
    ['line ends', `${TOKEN}\n${OTHER_TOKEN}\n`],
    ['line ends of Windows', `${TOKEN}\r\n\r\n${OTHER_TOKEN}\r\n`],
  ])('are separated by %s, in the variables and in the files', (name, list) => {
    const [both, path] = [[{ token: TOKEN }, { token: OTHER_TOKEN }], file(name, list)];
    for (const given of [{ ACCESS_TOKENS: list }, { ACCESS_TOKENS_FILE: path }]) {
      expect(readConfig({ DATABASE_URL, ...given }).readTokens()).toEqual({ full: both, reading: [] });
    }
    for (const given of [{ READ_TOKENS: list }, { READ_TOKENS_FILE: path }]) {
      expect(readConfig({ DATABASE_URL, ...given }).readTokens()).toEqual({ full: [], reading: both });
    }
    const files = { ACCESS_TOKENS_FILE: path, READ_TOKENS_FILE: file('other', READ_TOKEN) };
    expect(readConfig(files).tokenFiles).toEqual(Object.values(files));
  });

  test('may have names', () => {
    const named = ['r.2_d-2', 'x'.repeat(64)].map((who) => ({ who, token: `${who.length}${OTHER_TOKEN}` }));
    const list = named.map(({ who, token }) => `${who}:${token}`).join();
    expect(readConfig({ DATABASE_URL, ACCESS_TOKENS: list }).readTokens().full).toEqual(named);
  });

  test('may be there several times, but with one name only, since the log shows it', () => {
    expect(() => readConfig({ ACCESS_TOKENS: `anna:${TOKEN},anna:${TOKEN}` })).not.toThrow();
    const rule = expect.stringMatching('a token that is listed several times must have the same name');
    expect(mistakes({ ACCESS_TOKENS: `anna:${TOKEN},bob:${TOKEN}` })).toEqual([rule]);
    expect(mistakes({ READ_TOKENS: `anna:${TOKEN}`, READ_TOKENS_FILE: file('bare', TOKEN) })).toEqual([rule]);
  });

  test('that permit reading only must not permit everything too', () => {
    const full = [{ ACCESS_TOKENS: TOKEN }, { ACCESS_TOKENS_FILE: file('full', TOKEN) }];
    const reading = [{ READ_TOKENS: `anna:${TOKEN}` }, { READ_TOKENS_FILE: file('reading', `${READ_TOKEN},${TOKEN}`) }];
    const refusal =
      /^a token of ACCESS_TOKENS or ACCESS_TOKENS_FILE must not be in READ_TOKENS or READ_TOKENS_FILE, too$/;
    for (const environment of full.flatMap((one) => reading.map((other) => ({ ...one, ...other })))) {
      expect(mistakes(environment)).toEqual([expect.stringMatching(refusal)]);
    }
    expect(() => readConfig({ ACCESS_TOKENS: TOKEN, READ_TOKENS: `${TOKEN}-longer` })).not.toThrow();
  });
});

describe('a file of tokens', () => {
  const refusal = (reason: string) => [expect.stringMatching(`^ACCESS_TOKENS_FILE must be the path .*\\(${reason}`)];
  const IRREGULAR = 'it is not a regular file of at most 1 MiB';

  test.each<[string, () => string, string]>([
    ['does not exist', () => '/no/such/file', 'no such file or directory'],
    ['is a folder', folder, IRREGULAR],
    ['has only line ends', () => file('blank', '\uFEFF\r\n,\n'), 'the file is empty'],
    ['has something else', () => file('bad', `${TOKEN}\r\n\r\n${TOKEN},fifteen-letters\r\n`), 'line 3 is wrong'],
    ['is what no path can be', () => 'x'.repeat(300), 'name too long'],
  ])('that %s is refused', (_what, path, reason) => {
    expect(mistakes({ ACCESS_TOKENS_FILE: path() })).toEqual(refusal(reason));
  });

  test('that is a pipe is refused at once, whether or not it is being written', async () => {
    const path = join(folder(), 'pipe');
    await makePipe(path);
    expect(mistakes({ ACCESS_TOKENS_FILE: path })).toEqual(refusal(IRREGULAR));
    const writer = await open(path, 'r+');
    await writer.write(`${TOKEN}\n`);
    expect(mistakes({ ACCESS_TOKENS_FILE: path })).toEqual(refusal(IRREGULAR));
    await writer.close();
  });

  test('may have 1 MiB', () => {
    const path = file('largest', TOKEN.padEnd(1024 ** 2, '\n'));
    expect(readConfig({ ACCESS_TOKENS_FILE: path }).readTokens().full).toEqual([{ token: TOKEN }]);
    appendFileSync(path, '\n');
    expect(mistakes({ ACCESS_TOKENS_FILE: path })).toEqual(refusal(IRREGULAR));
  });
});

describe('tokens of an identity provider', () => {
  test('can be all that is accepted, and need a URL, an issuer and an audience together', () => {
    const missing = (name: string) => expect.stringMatching(`^${name} must be set too, since JWT_\\w+ is$`);
    for (const name of Object.keys(JWT)) expect(mistakes({ ...JWT, [name]: '' })).toEqual([missing(name)]);
    expect(mistakes({ JWT_READ_SCOPE: 'plants' })).toEqual(Object.keys(JWT).map(missing));
    const scopes = { JWT_READ_SCOPE: 'https://plants.example/read', JWT_WRITE_SCOPE: '!#[]~' };
    expect(readConfig({ DATABASE_URL, ...JWT, ...scopes }).jwt).toEqual({
      ...{ jwksUrl: JWT.JWT_JWKS_URL, allowHttp: false, issuer: 'login', audiences: ['plants'] },
      ...{ scopeClaims: ['scope', 'scp'], readScope: scopes.JWT_READ_SCOPE, writeScope: scopes.JWT_WRITE_SCOPE },
    });
  });

  test('have keys at an https:// URL, an http:// one of this machine or a permitted one', () => {
    for (const JWT_JWKS_URL of ['http://localhost:8080/keys', 'http://[::1]:8080/', 'https://login.example:8443/']) {
      expect(readConfig({ ...JWT, JWT_JWKS_URL }).jwt?.jwksUrl).toBe(JWT_JWKS_URL);
    }
    const given = { ...JWT, JWT_JWKS_URL: 'http://keycloak:8080/keys', JWT_ALLOW_HTTP: 'true' };
    expect(readConfig(given).jwt).toMatchObject({ jwksUrl: given.JWT_JWKS_URL, allowHttp: true });
  });

  test('can be for several audiences, and have their scopes in other claims', () => {
    const given = { JWT_AUDIENCE: 'api://plants, 7ukk3r', JWT_SCOPE_CLAIM: 'roles,https://plants.example/roles' };
    const rule = expect.stringMatching('^JWT_READ_SCOPE or JWT_WRITE_SCOPE must be set too, since JWT_SCOPE_CLAIM is');
    expect(mistakes({ ...JWT, ...given })).toEqual([rule]);
    expect(readConfig({ ...JWT, ...given, JWT_READ_SCOPE: 'plants' }).jwt).toMatchObject({
      audiences: ['api://plants', '7ukk3r'],
      scopeClaims: ['roles', 'https://plants.example/roles'],
    });
  });
});

test('takes 0 for no SHUTDOWN_DELAY, and half of a short SHUTDOWN_TIMEOUT for none', () => {
  expect(readConfig({ SHUTDOWN_DELAY: '0' }).SHUTDOWN_DELAY).toBe(0);
  expect(readConfig({ SHUTDOWN_TIMEOUT: '2s' }).SHUTDOWN_DELAY).toBe(1_000);
});
