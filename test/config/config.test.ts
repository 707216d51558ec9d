import { constants } from 'node:buffer';
import { appendFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, jest, test } from '@jest/globals';
import { readConfig, readDatabaseConfig } from '../../src/config/config.ts';
import { NAMES } from '../../src/config/variables.ts';
import { configFiles, mistakes } from '../support/config-files.ts';
import { atEnd } from '../support/lifetimes.ts';
import { makePipe } from '../support/programs/named-pipe.ts';

const TOKEN = 'token-for-the-tests';
const OTHER_TOKEN = 'another-token~for+the/tests==';
const READ_TOKEN = 'read-token-for-the-tests';
const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32).toString('base64')}`;
const DATABASE_URL = 'postgres://plants:database-password@db.example:5433/plants?sslmode=verify-full';

const { folder, file } = configFiles();

const defaults = {
  api: { host: '127.0.0.1', port: 3000, reusePort: false, baseUrl: undefined, corsOrigins: [], pages: true },
  management: { host: '127.0.0.1', port: 3001 },
  database: { kind: 'embedded', dataDir: './data' },
  tokens: { full: [], reading: [] },
  tokenFiles: [],
  readTokens: expect.any(Function),
  jwt: undefined,
  webhooks: [],
  warnings: [],
  bodyLimit: 1024 ** 2,
  batchRows: 256,
  storeTimeout: 5_000,
  limits: { maxRequests: 1_000, maxRequestBytes: 64 * 1024 ** 2 },
  maxStreams: 4,
  maxFollowers: 5_000,
  maxConnections: 10_000,
  logLevel: 'info',
  shutdownDelay: 5_000,
  shutdownTimeout: 10_000,
};

test('has a default for everything, and takes an empty variable for one that is not set', () => {
  const empty = Object.fromEntries([...NAMES, 'DATABSE_URL'].map((name) => [name, '']));
  for (const environment of [{}, empty]) expect(readConfig(environment)).toStrictEqual(defaults);
});

test('reads every variable', () => {
  const tokensFile = file('every-variable', `${OTHER_TOKEN}\n`);
  const readTokensFile = file('every-read-variable', `${READ_TOKEN}-of-the-file\n`);
  const environment = {
    HOST: '::',
    PORT: '4000',
    REUSE_PORT: 'on',
    BASE_URL: 'https://plants.example',
    CORS_ORIGINS: 'https://app.example, http://localhost:5173',
    PAGES: 'off',
    MANAGEMENT_HOST: '0.0.0.0',
    MANAGEMENT_PORT: '65535',
    DATABASE_URL,
    POOL_SIZE: '1000',
    ACCESS_TOKENS: TOKEN,
    ACCESS_TOKENS_FILE: tokensFile,
    READ_TOKENS: READ_TOKEN,
    READ_TOKENS_FILE: readTokensFile,
    JWT_JWKS_URL: 'https://login.example/keys',
    JWT_ISSUER: 'https://login.example',
    JWT_AUDIENCE: 'plants',
    JWT_READ_SCOPE: 'plants:read',
    JWT_WRITE_SCOPE: 'plants:write',
    WEBHOOK_URLS: 'http://hooks.example/',
    WEBHOOK_SECRET,
    WEBHOOK_ALLOW_HTTP: 'true',
    BODY_LIMIT: '64KB',
    BATCH_ROWS: '1',
    CONNECT_TIMEOUT: '1s',
    STATEMENT_TIMEOUT: '200ms',
    IDLE_TIMEOUT: '1m',
    STORE_TIMEOUT: '3s',
    MAX_REQUESTS: '20',
    MAX_REQUEST_BYTES: '2mb',
    MAX_STREAMS: '7',
    MAX_FOLLOWERS: '70',
    MAX_CONNECTIONS: '30',
    LOG_LEVEL: 'silent',
    SHUTDOWN_DELAY: '20s',
    SHUTDOWN_TIMEOUT: '2m',
  };
  const timeouts = { connectTimeout: 1_000, statementTimeout: 200, idleTimeout: 60_000 };
  const database = { kind: 'postgres', url: DATABASE_URL, poolSize: 1_000, ...timeouts };
  expect(readConfig(environment)).toStrictEqual({
    api: {
      host: '::',
      port: 4000,
      reusePort: true,
      baseUrl: 'https://plants.example',
      corsOrigins: ['https://app.example', 'http://localhost:5173'],
      pages: false,
    },
    management: { host: '0.0.0.0', port: 65_535 },
    database,
    tokens: { full: [TOKEN, OTHER_TOKEN], reading: [READ_TOKEN, `${READ_TOKEN}-of-the-file`] },
    tokenFiles: [tokensFile, readTokensFile],
    readTokens: expect.any(Function),
    jwt: {
      jwksUrl: 'https://login.example/keys',
      issuer: 'https://login.example',
      audience: 'plants',
      readScope: 'plants:read',
      writeScope: 'plants:write',
    },
    webhooks: [{ name: expect.any(String), url: 'http://hooks.example/', secrets: [WEBHOOK_SECRET] }],
    warnings: [],
    bodyLimit: 64 * 1024,
    batchRows: 1,
    storeTimeout: 3_000,
    limits: { maxRequests: 20, maxRequestBytes: 2 * 1024 ** 2 },
    maxStreams: 7,
    maxFollowers: 70,
    maxConnections: 30,
    logLevel: 'silent',
    shutdownDelay: 20_000,
    shutdownTimeout: 120_000,
  });
  expect(readDatabaseConfig(environment)).toStrictEqual(database);
});

test('takes * for the pages of everybody', () => {
  expect(readConfig({ CORS_ORIGINS: '*' }).api.corsOrigins).toEqual(['*']);
});

const PORT_RULE = 'must be a port number from 0 to 65535';
const sizeRule = (most: string) =>
  `must be a size of ${most} at most: a whole number above 0 and one of b, kb, mb, like 10kb`;
const TIME_RULE = 'must be a time of 1 day at most: a whole number above 0 and one of ms, s, m, like 10s';
const TOKEN_RULE =
  'one token or more, separated by commas or line ends, each of at least 16 letters, digits and -._~+/';
const TOKENS_RULE = `must be ${TOKEN_RULE}`;
const ORIGINS_RULE =
  'must be * or origins separated by commas, each exactly as browsers send it, like https://app.example';
const ENCODED_RULE =
  'must percent-encode special letters of its user, password and database, such as @ as %40, / as %2F and ? as %3F';
const ONE_HOST_RULE =
  'must name one host, without target_session_attrs; several servers need a proxy or service that leads to the primary (docs/clusters.md)';
const DATABASE_RULE = 'must be a URL like postgres://user:password@host:5432/database';
const UNREADABLE_RULE = `${DATABASE_RULE}, with special letters percent-encoded`;

test.each([
  ['PORT', ['-1', '65536', '80.5', '0x50', 'http', ' 80'], PORT_RULE],
  ['MANAGEMENT_PORT', ['65536'], PORT_RULE],
  [
    'BASE_URL',
    ['plants.example', 'ftp://plants.example', 'https://', 'https://user:password@plants.example'],
    'must be an http:// or https:// URL without a user and a password',
  ],
  ['CORS_ORIGINS', ['app.example', 'ftp://app.example', 'null'], ORIGINS_RULE],
  ['CORS_ORIGINS', ['/', '/path', ':443', ',', ',*'].map((end) => `https://app.example${end}`), ORIGINS_RULE],
  ['CORS_ORIGINS', ['https://App.example', 'https://*.app.example'], ORIGINS_RULE],
  ['REUSE_PORT', ['true', 'ON', '1'], 'must be one of on, off'],
  ['POOL_SIZE', ['0', '1001', '-1', 'ten'], 'must be a number of connections from 1 to 1000'],
  ['BODY_LIMIT', ['0mb', '1', '1.5mb', '-1kb', '1gb', 'mb', '512mb', '523265kb'], sizeRule('511mb')],
  ['BATCH_ROWS', ['0', '1001'], 'must be a number of rows from 1 to 1000'],
  ['MAX_REQUESTS', ['0'], 'must be a number of requests from 1 to 1000000'],
  ['MAX_REQUEST_BYTES', ['64', '1025mb'], sizeRule('1024mb')],
  ['CONNECT_TIMEOUT', ['0s'], TIME_RULE],
  ['STATEMENT_TIMEOUT', ['0s'], TIME_RULE],
  ['IDLE_TIMEOUT', ['0s'], TIME_RULE],
  ['STORE_TIMEOUT', ['forever'], TIME_RULE],
  // The last one is longer than a timer can wait.
  ['SHUTDOWN_TIMEOUT', ['0s', '10', '1h', '1e3ms', 's', '35792m'], TIME_RULE],
  ['LOG_LEVEL', ['loud', 'INFO'], 'must be one of trace, debug, info, warn, error, fatal, silent'],
  ['ACCESS_TOKENS', ['fifteen-letters', `${TOKEN} ${TOKEN}`, `${TOKEN},"quoted-characters"`, ','], TOKENS_RULE],
  ['READ_TOKENS', ['fifteen-letters', ','], TOKENS_RULE],
  ['MAX_STREAMS', ['0', '1001', 'all'], 'must be a number of lists from 1 to 1000'],
  ['MAX_FOLLOWERS', ['0', '1000001', 'all'], 'must be a number of requests from 1 to 1000000'],
])('refuses a bad %s and says what it must be', (name, values, rule) => {
  // The others could be a token, or have one in them.
  const isPublic = !/URL|TOKENS/.test(name);
  for (const value of values) {
    const repeated = isPublic ? `, not ${JSON.stringify(value)}` : '';
    expect(mistakes({ ACCESS_TOKENS: TOKEN, [name]: value })).toEqual([`${name} ${rule}${repeated}`]);
  }
});

test.each<[string[], string]>([
  [['db.example', 'mysql://db.example/plants', 'mysql://user:secret@one,two/plants'], DATABASE_RULE],
  [['postgres://db:port/x', 'postgres://user:se?cret@db/x', 'postgres://user:1,2/se?cret@db/x'], UNREADABLE_RULE],
  [
    [
      ...['se@cret', '12/secret', 'sec/ret', '/secret', '12#secret', 'sec#ret', 'a@1/secret', '12/se%40cret'],
      ...['1,2/secret', '12/sec?ret', '2024?hush', '2024?hush=x', '%E0%A4'],
    ].map((password) => `postgres://plants:${password}@db.example/plants`),
    ENCODED_RULE,
  ],
  [
    ['user%00:secret@db', 'user:sec%00ret@db', 'db/pl%00ants?host=x', 'db/plants?options=%00'].map(
      (part) => `postgres://${part}/plants`,
    ),
    'must not have %00, which ends a text for Postgres',
  ],
  [['postgres://me@tenant:secret@db.example/plants', 'postgres://db.example/pl@nts'], ENCODED_RULE],
  [
    ['sslmode=verify_full', 'sslmode=disable&sslmode='].map((mode) => `postgres://db.example/plants?${mode}`),
    'must have an sslmode of disable, no-verify, prefer, require, verify-ca, verify-full',
  ],
  [
    ['', '&sslmode=require'].map((more) => `postgres://db.example/plants?sslrootcert=/no/such/file${more}`),
    'must name a file that can be read as its sslrootcert: /no/such/file does not exist',
  ],
  [['postgres://db.example/plants?sslkey=/'], 'must name a file that can be read as its sslkey: / is a folder'],
  [
    ['sslcert', 'sslkey'].map((name) => `postgres://db.example/plants?${name}=${import.meta.filename}`),
    'must have a PEM certificate as its sslcert, and its PEM key as sslkey',
  ],
  [
    ['/dev/null', import.meta.filename].map((path) => `postgres://db.example/plants?sslrootcert=${path}`),
    'must have a PEM certificate as its sslrootcert',
  ],
  [
    [
      ...['one:5432,two:5432', 'one,two', '[::1],two', 'one:port,two', 'one,two:70000', 'one, two', 'one,,two'],
      ...['one%2Ctwo', 'one,', ',two', 'user:pa,ss@one,two'],
    ].flatMap((hosts) => ['', '?target_session_attrs=read-write'].map((query) => `postgres://${hosts}/plants${query}`)),
    ONE_HOST_RULE,
  ],
  [
    ['host=one,two', 'host=one&host=two', 'port=5432,5433', 'target_session_attrs=any', 'target_session_attrs='].map(
      (query) => `postgres://user:secret@one/plants?${query}`,
    ),
    ONE_HOST_RULE,
  ],
  ...['query_timeout', 'load_balance_hosts', 'statement_timeout', 'SSLMODE'].map((name): [string[], string] => [
    [`postgres://db.example/plants?${name}=abc`],
    `must not have the parameter ${name}: only host, port, user, password, application_name, options, ` +
      'sslmode, sslrootcert, sslcert, sslkey, sslnegotiation are known',
  ]),
])('refuses a bad DATABASE_URL, without repeating it, and says what it must be (%#)', (values, rule) => {
  for (const value of values) {
    expect(mistakes({ ACCESS_TOKENS: TOKEN, DATABASE_URL: value })).toEqual([`DATABASE_URL ${rule}`]);
  }
});

test.each(['DATABASE_URL', 'ACCESS_TOKENS', 'DATA_DIR', 'HOST', 'POOL_SIZE'])(
  'names the quotes and comments that docker run --env-file leaves in %s, without showing the value',
  (name) => {
    for (const value of ['"8"', " '8' ", '8 # a comment', '"8" # a comment']) {
      expect(mistakes({ ACCESS_TOKENS: TOKEN, [name]: value })).toEqual([
        `${name} must not have quotes around it or a comment behind it, which docker run --env-file keeps`,
      ]);
    }
  },
);

test('the two servers may have one port only at different addresses, or if it is a free one', () => {
  const rule = 'MANAGEMENT_PORT must not be that of PORT, unless MANAGEMENT_HOST and HOST are different addresses';
  expect(mistakes({ PORT: '4000', MANAGEMENT_PORT: '4000' })).toEqual([rule]);
  expect(mistakes({ PORT: '3001' })).toEqual([rule]);
  for (const HOST of ['0.0.0.0', '::']) expect(mistakes({ PORT: '3001', HOST })).toEqual([rule]);
  expect(() => readConfig({ PORT: '3001', MANAGEMENT_HOST: '10.0.0.1' })).not.toThrow();
  expect(() => readConfig({ PORT: '0', MANAGEMENT_PORT: '0' })).not.toThrow();
});

describe('a variable that is nearly one of ours', () => {
  test.each([
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DATABASE_ULR', 'DATABASE_URL'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['database_url', 'DATABASE_URL'],
    ['MIGRATION_DATABASEURL', 'MIGRATION_DATABASE_URL'],
    ['ACCESS_TOKEN', 'ACCESS_TOKENS'],
    ['ACCESS_TOKEN_FILE', 'ACCESS_TOKENS_FILE'],
    ['READ_TOKEN', 'READ_TOKENS'],
    ['READ_TOKENS_FIEL', 'READ_TOKENS_FILE'],
    ['DATA_DIRS', 'DATA_DIR'],
    ['DATADIR', 'DATA_DIR'],
    ['PLANT_STORE_TOKENS', 'PLANT_STORE_TOKEN'],
    ['PLANTSTORE_URL', 'PLANT_STORE_URL'],
  ])(
    'is refused if it may decide on the store or on its tokens, by the service and by migrations: %s',
    (name, meant) => {
      const line = `${name} is not a variable of Plant Store: did you mean ${meant}? If another program needs it, unset it here`;
      for (const read of [readConfig, readDatabaseConfig]) expect(mistakes({ [name]: TOKEN }, read)).toEqual([line]);
    },
  );

  test.each([
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['SHUTDOWN_TIMEOUTS', 'SHUTDOWN_TIMEOUT'],
    ['SHUTDOWN_TIMOUT', 'SHUTDOWN_TIMEOUT'],
    ['Port', 'PORT'],
    ['PROT', 'PORT'],
    ['HOSTS', 'HOST'],
    ['PAGE', 'PAGES'],
    ['BODYLIMIT', 'BODY_LIMIT'],
  ])('is a warning otherwise, since it may be for another program: %s', (name, meant) => {
    const line = `${name} is not a variable of Plant Store and has no effect: did you mean ${meant}?`;
    expect(readConfig({ [name]: 'x' })).toMatchObject({ warnings: [line] });
    expect(() => readDatabaseConfig({ [name]: 'x' })).not.toThrow();
  });

  test('is refused beside the right one, and with all other mistakes', () => {
    const environment = { DATABASE_URL, DATABASE_ULR: DATABASE_URL, ACCESS_TOKEN: TOKEN };
    expect(mistakes(environment).map((line) => line.split(' ', 1)[0])).toEqual(['DATABASE_ULR', 'ACCESS_TOKEN', 'one']);
  });

  test('is none of those that other programs set', () => {
    // Those of Kubernetes, containers, systemd and shells, Node.js, npm, Postgres, CI and platforms that are nearest to ours.
    const theirs = `
      DATABASE_HOST DATABASE_NAME DATABASE_USER DATABASE_PORT DATA_PORT BASE_PORT STORE_PORT HOST_IP POD_IP
      DATABASE_PASSWORD POSTGRES_URL POSTGRES_HOST MANAGEMENT_SERVICE_PORT DOCKER_HOST COMPOSE_FILE
      HOSTNAME HOME PATH SSH_CONNECTION XDG_DATA_DIRS XDG_RUNTIME_DIR SSL_CERT_DIR HTTP_PROXY
      NODE_OPTIONS NODE_EXTRA_CA_CERTS UV_THREADPOOL_SIZE NPM_CONFIG_LOGLEVEL NPM_TOKEN
      PGHOST PGPORT PGUSER PGDATA PGDATABASE PGTZ PGGEQO PGCONNECT_TIMEOUT PGSSLROOTCERT
      BUILD_URL CHANGE_URL CI_PAGES_URL CI_JOB_JWT CI_JOB_TIMEOUT BUILDKITE_AGENT_ACCESS_TOKEN
      DEPLOY_URL VERCEL_URL DATABASE_PUBLIC_URL DATABASE_URL_UNPOOLED DIRECT_DATABASE_URL TEST_DATABASE_URL
      MEMORY_LIMIT LOG_CHANNELS NOMAD_TOKEN DYNO WEBSITES_PORT OTEL_LOG_LEVEL DATABASE_CONNECTION_POOL_URL`;
    for (const name of theirs.trim().split(/\s+/)) expect(readConfig({ [name]: 'x' }).warnings).toEqual([]);
  });
});

test('MAX_REQUEST_BYTES must be enough for one body of the largest size', () => {
  const tooSmall = [
    { BODY_LIMIT: '65mb' },
    { MAX_REQUEST_BYTES: '1000kb' },
    { BODY_LIMIT: '11b', MAX_REQUEST_BYTES: '10b' },
  ];
  for (const sizes of tooSmall) expect(mistakes(sizes)).toEqual(['MAX_REQUEST_BYTES must be at least BODY_LIMIT']);
  const { bodyLimit, limits } = readConfig({ BODY_LIMIT: '10b', MAX_REQUEST_BYTES: '10b' });
  expect([bodyLimit, limits.maxRequestBytes]).toEqual([10, 10]);
});

test('takes a BODY_LIMIT of the longest string that V8 can make, in whole megabytes', () => {
  const { bodyLimit } = readConfig({ BODY_LIMIT: '511mb', MAX_REQUEST_BYTES: '1024mb' });
  expect(bodyLimit).toBeLessThanOrEqual(constants.MAX_STRING_LENGTH);
  expect(bodyLimit + 1024 ** 2).toBeGreaterThan(constants.MAX_STRING_LENGTH);
});

test('lists several mistakes all at once', () => {
  const webhooks = { WEBHOOK_URLS: 'http://hooks.example/', WEBHOOK_SECRET: 'whsec_short', WEBHOOK_ALLOW_HTTP: 'no' };
  const others = { POOL_SIZE: '0', LOG_LEVEL: 'loud', BODY_LIMIT: '1', WEBHOOKS_FILE: '/no/such/file' };
  const environment = { PORT: 'http', MANAGEMENT_PORT: '-1', ...others, ...webhooks };
  const names = mistakes(environment).map((line) => line.split(' ', 1)[0]);
  expect(names.toSorted()).toEqual(Object.keys(environment).toSorted());
  expect(mistakes(environment, readDatabaseConfig)).toEqual([
    'POOL_SIZE must be a number of connections from 1 to 1000, not "0"',
  ]);
});

test.each([
  'postgres://me%40tenant:p%40ss%2Fword%23%3F%25@one/pl%40nts',
  'postgres://one/plants?user=me@tenant&password=p@ss/word',
  'postgres:///plants?host=/var/run/postgresql',
  'postgres://user:pa,ss@one:5432/plants?sslmode=verify-full',
  'postgresql://user@[::1]:5432/plants?port=5433',
])('takes %s for a DATABASE_URL, of the service and of migrations', (url) => {
  expect(readConfig({ DATABASE_URL: url, ACCESS_TOKENS: TOKEN })).toMatchObject({ database: { url } });
  expect(readDatabaseConfig({ MIGRATION_DATABASE_URL: url })).toMatchObject({ url });
});

test.each(['require', 'prefer', 'verify-ca'])(
  'takes sslmode=%s for verify-full without a warning of the driver',
  (mode) => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    readConfig({ DATABASE_URL: `postgres://db.example/plants?sslmode=${mode}`, ACCESS_TOKENS: TOKEN });
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  },
);

test('gives migrations a URL of their own if there is one, and does not start an empty store without the other', () => {
  const MIGRATION_DATABASE_URL = 'postgres://owner@db.example/plants';
  expect(readDatabaseConfig({ MIGRATION_DATABASE_URL, DATABASE_URL })).toMatchObject({ url: MIGRATION_DATABASE_URL });
  expect(readDatabaseConfig({ MIGRATION_DATABASE_URL })).toMatchObject({ url: MIGRATION_DATABASE_URL });
  expect(readDatabaseConfig({ MIGRATION_DATABASE_URL: '', DATABASE_URL })).toMatchObject({ url: DATABASE_URL });
  expect(mistakes({ MIGRATION_DATABASE_URL })).toEqual([
    'DATABASE_URL must be set when MIGRATION_DATABASE_URL is: only some commands read that one',
  ]);
  const wrong = { MIGRATION_DATABASE_URL: 'db.example', DATABASE_URL };
  expect(mistakes(wrong, readDatabaseConfig)).toEqual([`MIGRATION_DATABASE_URL ${DATABASE_RULE}`]);
});

describe('instances that share a port', () => {
  const shared = { REUSE_PORT: 'on', DATABASE_URL, ACCESS_TOKENS: TOKEN };

  test('need one port and a Postgres', () => {
    expect(readConfig(shared).api.reusePort).toBe(true);
    expect(mistakes({ ...shared, DATABASE_URL: '', PORT: '0' })).toEqual([
      'PORT must not be 0 when REUSE_PORT is on: each instance would listen at another port',
      'REUSE_PORT must be off with the embedded database in DATA_DIR, which one process can open: set DATABASE_URL',
    ]);
    expect(readConfig({ REUSE_PORT: 'off', PORT: '0' }).api.reusePort).toBe(false);
  });

  test.each(['darwin', 'win32'])('need Linux, not %s', (other) => {
    const { platform } = process;
    atEnd(() => Object.defineProperty(process, 'platform', { value: platform }));
    Object.defineProperty(process, 'platform', { value: other });
    expect(mistakes(shared)).toEqual([
      'REUSE_PORT must be off here, since it needs Linux: deploy/nginx.conf distributes requests elsewhere',
    ]);
  });

  test('replace PROCESSES, which is named with what to do while it is set', () => {
    for (const read of [readConfig, readDatabaseConfig]) {
      expect(mistakes({ PROCESSES: '1' }, read)).toEqual([
        'PROCESSES is no longer a variable of Plant Store: ' +
          'start several instances with REUSE_PORT=on instead, as docs/operations.md says',
      ]);
    }
  });
});

describe('access tokens', () => {
  const required =
    'one of ACCESS_TOKENS, ACCESS_TOKENS_FILE, READ_TOKENS, READ_TOKENS_FILE, JWT_JWKS_URL must be set when ' +
    'DATABASE_URL is: openssl rand -hex 32 makes a token';

  test('are required with a DATABASE_URL, even a bad one, except by migrations', () => {
    expect(mistakes({ DATABASE_URL })).toEqual([required]);
    expect(mistakes({ DATABASE_URL: 'db.example' })).toEqual([`DATABASE_URL ${DATABASE_RULE}`, required]);
    expect(readDatabaseConfig({ DATABASE_URL })).toMatchObject({ kind: 'postgres', url: DATABASE_URL });
  });

  test('that are wrong are not called missing as well', () => {
    expect(mistakes({ DATABASE_URL, ACCESS_TOKENS: 'short' })).toEqual([`ACCESS_TOKENS ${TOKENS_RULE}`]);
  });

  test.each([
    ['commas', `${TOKEN},${OTHER_TOKEN}`],
    ['commas and spaces', ` ${TOKEN} , ${OTHER_TOKEN},`],
    ['line ends', `${TOKEN}\n${OTHER_TOKEN}\n`],
    ['line ends of Windows', `${TOKEN}\r\n\r\n${OTHER_TOKEN}\r\n`],
  ])('are separated by %s, in the variable and in the file', (name, list) => {
    for (const environment of [{ ACCESS_TOKENS: list }, { DATABASE_URL, ACCESS_TOKENS_FILE: file(name, list) }]) {
      expect(readConfig(environment).tokens).toEqual({ full: [TOKEN, OTHER_TOKEN], reading: [] });
    }
  });

  test('may be in a file of 1 MiB', () => {
    const path = file('largest', TOKEN.padEnd(1024 ** 2, '\n'));
    expect(readConfig({ ACCESS_TOKENS_FILE: path }).tokens.full).toEqual([TOKEN]);
    appendFileSync(path, '\n');
    expect(mistakes({ ACCESS_TOKENS_FILE: path })).toEqual([
      `ACCESS_TOKENS_FILE must be the path of a file that contains ${TOKEN_RULE} (it is not a regular file of at most 1 MiB)`,
    ]);
  });
});

describe.each(['ACCESS_TOKENS_FILE', 'READ_TOKENS_FILE'])('a %s', (name) => {
  const refusal = (reason: string) => [`${name} must be the path of a file that contains ${TOKEN_RULE} (${reason})`];
  const IRREGULAR = 'it is not a regular file of at most 1 MiB';

  test.each<[string, () => string, string]>([
    ['does not exist', () => '/no/such/file', 'no such file or directory'],
    ['is below a file', () => join(file('a-file', TOKEN), 'x'), 'not a directory'],
    ['is a folder', folder, IRREGULAR],
    ['is empty', () => file('empty', ''), 'it is empty'],
    ['has only line ends', () => file('blank', '\uFEFF\r\n,\n'), 'it is empty'],
    ['has something else', () => file('bad', `${TOKEN}\r\n\r\n${TOKEN},fifteen-letters\r\n`), 'line 3 is wrong'],
    ['is a device', () => '/dev/null', IRREGULAR],
    ['is what no path can be', () => 'x'.repeat(300), 'name too long'],
  ])('that %s is refused', (_what, path, reason) => {
    expect(mistakes({ [name]: path() })).toEqual(refusal(reason));
  });

  test('that is a pipe is refused at once, whether or not it is being written', async () => {
    const path = join(folder(), `${name}-pipe`);
    await makePipe(path);
    expect(mistakes({ [name]: path })).toEqual(refusal(IRREGULAR));
    const writer = await open(path, 'r+');
    await writer.write(`${TOKEN}\n`);
    expect(mistakes({ [name]: path })).toEqual(refusal(IRREGULAR));
    await writer.close();
  });
});

describe('tokens that permit reading only', () => {
  test('can be all that is accepted, in the variable or in the file', () => {
    const list = `${READ_TOKEN},${OTHER_TOKEN}`;
    for (const given of [{ READ_TOKENS: list }, { READ_TOKENS_FILE: file('read-only', list) }]) {
      expect(readConfig({ DATABASE_URL, ...given }).tokens).toEqual({ full: [], reading: [READ_TOKEN, OTHER_TOKEN] });
    }
  });

  test.each([
    ['ACCESS_TOKENS', 'READ_TOKENS'],
    ['ACCESS_TOKENS', 'READ_TOKENS_FILE'],
    ['ACCESS_TOKENS_FILE', 'READ_TOKENS'],
    ['ACCESS_TOKENS_FILE', 'READ_TOKENS_FILE'],
  ])('must not permit everything too: a token in %s and %s is a mistake', (full, read) => {
    const given = (name: string, list: string) => ({ [name]: name.endsWith('_FILE') ? file(name, list) : list });
    const environment = { ...given(full, `${TOKEN},${OTHER_TOKEN}`), ...given(read, `${READ_TOKEN},${TOKEN}`) };
    expect(mistakes(environment)).toEqual([
      'READ_TOKENS and READ_TOKENS_FILE must not have a token of ACCESS_TOKENS or ACCESS_TOKENS_FILE',
    ]);
  });

  test('may begin with one that permits everything, or be the beginning of one', () => {
    const [shorter, longer] = [TOKEN, `${TOKEN}-longer`];
    expect(() => readConfig({ ACCESS_TOKENS: shorter, READ_TOKENS: longer })).not.toThrow();
    expect(() => readConfig({ ACCESS_TOKENS: longer, READ_TOKENS: shorter })).not.toThrow();
  });
});

describe('tokens of an identity provider', () => {
  const jwt = { JWT_JWKS_URL: 'https://login.example/keys', JWT_ISSUER: 'login', JWT_AUDIENCE: 'plants' };

  test('can be all that is accepted', () => {
    expect(readConfig({ DATABASE_URL, ...jwt })).toMatchObject({ tokens: { full: [] }, jwt: { issuer: 'login' } });
  });

  test('need a URL, an issuer and an audience together, and a scope needs all three', () => {
    const missing = (name: string, given: string) => `${name} must be set too, since ${given} is`;
    for (const name of Object.keys(jwt)) {
      const given = name === 'JWT_JWKS_URL' ? 'JWT_ISSUER' : 'JWT_JWKS_URL';
      expect(mistakes({ DATABASE_URL, ...jwt, [name]: '' })).toEqual([missing(name, given)]);
    }
    for (const scope of ['JWT_READ_SCOPE', 'JWT_WRITE_SCOPE']) {
      expect(mistakes({ [scope]: 'plants' })).toEqual(Object.keys(jwt).map((name) => missing(name, scope)));
    }
  });

  test.each(['JWT_READ_SCOPE', 'JWT_WRITE_SCOPE'])('can need a scope, one word in %s', (name) => {
    const field = name === 'JWT_READ_SCOPE' ? 'readScope' : 'writeScope';
    for (const scope of ['plants:read', 'https://plants.example/read', 'read', '!#[]~']) {
      expect(readConfig({ ...jwt, [name]: scope }).jwt).toMatchObject({ [field]: scope });
    }
    for (const scope of ['plants read', ' read', 'read,write', 'pl\u00E4nts', 'a"b', 'a\\b', 'a\n']) {
      const rule = `${name} must be one scope, without spaces, commas, quotation marks and backslashes`;
      expect(mistakes({ ...jwt, [name]: scope })).toEqual([rule]);
    }
  });

  test.each(['JWT_ISSUER', 'JWT_AUDIENCE'])('have one %s, since a list would be that of none', (name) => {
    const rule = `${name} must be one ${name.slice(4).toLowerCase()}, not a list, so without commas and spaces`;
    for (const list of ['a,b', 'a, b', 'a b', '["a"],', 'a\n'])
      expect(mistakes({ ...jwt, [name]: list })).toEqual([rule]);
  });

  test('have their keys at an https:// URL, or at an http:// one of this machine', () => {
    const right = [
      'http://localhost:8080/keys',
      'http://127.0.0.1/keys',
      'http://[::1]:8080/',
      'https://login.example:8443/',
    ];
    for (const url of right) expect(readConfig({ ...jwt, JWT_JWKS_URL: url }).jwt?.jwksUrl).toBe(url);
    const rule =
      'JWT_JWKS_URL must be an https:// URL, or an http:// URL of this machine, without a user and a password';
    const hosts = ['login.example', 'localhost.example', '127.example'];
    for (const url of [...hosts.map((host) => `http://${host}/keys`), 'ftp://[::1]/', 'keys']) {
      expect([url, ...mistakes({ ...jwt, JWT_JWKS_URL: url })]).toEqual([url, rule]);
    }
  });
});

test('no message shows a token or the password of the database', () => {
  const said = mistakes({
    PORT: 'http',
    DATABASE_URL: DATABASE_URL.replace('5433', 'port'),
    ACCESS_TOKENS: `${TOKEN},short-one`,
    ACCESS_TOKENS_FILE: file('secrets', `${OTHER_TOKEN}\nshort-two`),
    READ_TOKENS: `${READ_TOKEN},short-three`,
  });
  expect(said).toHaveLength(5);
  expect(said.join('\n')).not.toMatch(/token-for-the-tests|another-token|short-|database-password/);
  const twice = { ACCESS_TOKENS: TOKEN, READ_TOKENS: TOKEN };
  expect(mistakes(twice).join('\n')).not.toContain(TOKEN);
});

test('takes 0 for no SHUTDOWN_DELAY, and at most half of SHUTDOWN_TIMEOUT for one', () => {
  expect(readConfig({ SHUTDOWN_DELAY: '0' }).shutdownDelay).toBe(0);
  expect(readConfig({ SHUTDOWN_TIMEOUT: '2s' }).shutdownDelay).toBe(1_000);
  expect(readConfig({ SHUTDOWN_DELAY: '8s', SHUTDOWN_TIMEOUT: '16s' }).shutdownDelay).toBe(8_000);
  for (const SHUTDOWN_TIMEOUT of ['', '15s']) {
    expect(mistakes({ SHUTDOWN_DELAY: '8s', SHUTDOWN_TIMEOUT })).toEqual([
      'SHUTDOWN_DELAY must be at most half of SHUTDOWN_TIMEOUT, so that the requests in flight have the other half',
    ]);
  }
  expect(mistakes({ SHUTDOWN_DELAY: '-1' })).toEqual([expect.stringMatching(/^SHUTDOWN_DELAY must be 0 or a time /)]);
});
