import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { CLOSE, post as postBody, TOKEN } from './support/api-server.ts';
import { eventually } from './support/eventually.ts';
import { connectTo } from './support/http-bytes.ts';
import { forAllTests } from './support/lifetimes.ts';
import { beginUpload } from './support/raw-request.ts';
import { listening } from './support/servers/local-server.ts';
import {
  projectFile,
  type Service,
  startMain,
  startNode,
  startService,
  temporaryFolder,
} from './support/service-process.ts';
import { applyMigrations, emptyDatabase, migratedDatabase } from './support/test-database.ts';
import { webhooksTo } from './support/webhooks/webhook-receiver.ts';

/* The whole service as its own process, as its users meet it. */

const monstera = { id: 1, name: 'Monstera deliciosa', tag: 'houseplant' };

const post = ({ apiUrl }: Service, plant: object, token = TOKEN) =>
  postBody(apiUrl, JSON.stringify(plant), { Authorization: `Bearer ${token}` });

async function ready({ managementUrl }: Service): Promise<{ status: number; message?: string }> {
  const answer = await fetch(`${managementUrl}/ready`);
  return { ...((await answer.json()) as object), status: answer.status };
}

const tokenIn = (curl: string) => /'Authorization: Bearer ([^']*)'/.exec(curl)?.[1] ?? '';

/** What ps shows to every user of the machine; small images of Linux lack ps itself. */
async function commandLine(pid = 0): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8');
  return (await promisify(execFile)('ps', ['-o', 'args=', '-p', String(pid)])).stdout;
}

describe('without any configuration', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await temporaryFolder();
  });

  test('shows a curl command, and has its token, readable by its owner only, and its plant after kill -9', async () => {
    const first = await startService(folder);
    const curl = await first.curl();
    const token = tokenIn(curl);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(curl).toBe(
      `curl ${first.apiUrl}/plants -H 'Authorization: Bearer ${token}'` +
        ` -H 'Content-Type: application/json' -d '${JSON.stringify(monstera)}'`,
    );
    expect(await ready(first)).toMatchObject({ status: 200 });
    expect((await post(first, monstera, token)).status).toBe(200);
    first.kill('SIGKILL');
    await first.exited;
    const file = join(folder, 'data/access-token');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).toBe(`${token}\n`);

    const second = await startService(folder);
    expect(tokenIn(await second.curl())).toBe(token);
    expect((await post(second, monstera, token)).status).toBe(200);
    expect((await post(second, { ...monstera, name: 'Monstera adansonii' }, token)).status).toBe(400);
  });

  test('writes JSON lines only to stdout, the token to nothing but the curl line and the link, and keeps others from its folder', async () => {
    const service = await startService(folder, { LOG_LEVEL: 'trace' });
    const curl = await service.curl();
    const token = tokenIn(curl);
    const message = 'data is in use by another process: stop that one, or set DATA_DIR to another folder\n';
    const stderr = `Plant Store cannot start.\n./${message}`;
    expect(await startMain(folder).outcome()).toMatchObject({ code: 1, stderr });
    await post(service, monstera, token);
    await post(service, { name: 1 }, `${token}${token}`);
    await fetch(`${service.apiUrl}/plants?access_token=${token}`, { headers: CLOSE });
    service.kill('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    const lines = service.stdout().trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).status)).toEqual([200, 401, 401]);
    expect(service.stdout()).not.toContain(token);
    const link = `Plants: ${service.apiUrl}/#token=${token}\n`;
    expect(service.stderr()).toContain(link);
    expect(service.stderr().replace(curl, '').replace(link, '')).not.toContain(token);
  });
});

describe('on Postgres', () => {
  const database = forAllTests(migratedDatabase);

  const start = async (environment: Record<string, string> = {}) =>
    startService(await temporaryFolder(), { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN, ...environment });

  const follow = async ({ apiUrl }: Service, after: string) => {
    const headers = { Authorization: `Bearer ${TOKEN}`, ...CLOSE };
    return (await fetch(`${apiUrl}/changes?after=${after}&wait=30`, { headers })).json();
  };

  /** Resolves once as many wait for changes. */
  const followers = ({ managementUrl }: Service, count: number) =>
    eventually(async () => {
      const metrics = await (await fetch(`${managementUrl}/metrics`)).text();
      return metrics.includes(`\nplant_store_followers ${count}\n`);
    });

  /** Sends SIGTERM and waits until the service has begun to stop. */
  async function beginToStop(service: Service) {
    service.kill('SIGTERM');
    while ((await ready(service)).status !== 503);
  }

  test('finishes a request that is in flight when it has to stop, and waits for no other longer than SHUTDOWN_TIMEOUT', async () => {
    const service = await start({ SHUTDOWN_TIMEOUT: '3s' });
    const following = follow(service, (await follow(service, 'now')).next);
    await followers(service, 1);
    const { finish } = await beginUpload(service.apiUrl, JSON.stringify(monstera));
    await once(connectTo(service.apiUrl), 'connect');
    const { socket: unfinished } = await beginUpload(service.apiUrl);
    unfinished.write('{');
    await beginToStop(service);
    expect(await ready(service)).toMatchObject({ status: 503, error: 50300, checks: { service: 'shutting down' } });
    expect((await fetch(`${service.managementUrl}/live`)).status).toBe(200);
    await expect(fetch(`${service.apiUrl}/openapi.json`)).rejects.toThrow('fetch failed');
    expect(await following).toMatchObject({ changes: [] });

    const answer = await finish();
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/^Connection: close\r$/im);
    expect(answer).toMatch(/\r\n\r\n{"name":"Monstera deliciosa","tag":"houseplant"}$/);
    // It would be 1 after the time is over.
    expect(await service.exited).toEqual({ code: 0, signal: null });
  });

  test('lets followers wait while it still accepts connections, who would come back at once', async () => {
    const service = await start({ SHUTDOWN_DELAY: '5m', SHUTDOWN_TIMEOUT: '10m' });
    const { next } = await follow(service, 'now');
    await beginToStop(service);
    for (let n = 0; n < 2; n++) {
      const { status, headers } = await fetch(`${service.apiUrl}/openapi.json`);
      expect([status, headers.get('Connection')]).toEqual([200, 'close']);
    }
    const following = follow(service, next);
    // Its request was sent before this one.
    const plant = { ...monstera, id: 7 };
    expect((await post(service, plant)).status).toBe(200);
    expect(await following).toMatchObject({ changes: [plant] });
  });

  test('notices migrations that are applied later, without a restart', async () => {
    const { url: DATABASE_URL } = await emptyDatabase();
    const service = await start({ DATABASE_URL });
    const pending = expect.stringMatching(/^migrations are pending \(0001_create_plants, .*\): run npm run migrate$/);
    await service.until(() => /^Not ready: migrations are pending .*\n$/m.test(service.stderr()));
    expect((await fetch(`${service.managementUrl}/live`)).status).toBe(200);
    expect(await ready(service)).toMatchObject({ status: 503, error: 50300, checks: { database: pending } });
    expect((await fetch(`${service.apiUrl}/plants`, { method: 'POST' })).status).toBe(401);
    const refused = await post(service, monstera);
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: 50300 }]);
    expect(refused.headers.get('Retry-After')).toBe('1');

    const migration = startNode([projectFile('src/migrate.ts'), 'up'], await temporaryFolder(), { DATABASE_URL });
    expect(await migration.exited).toEqual({ code: 0, signal: null });
    expect((await post(service, monstera)).status).toBe(200);
    expect(await ready(service)).toMatchObject({ status: 200 });
    await service.until(() => /^Not ready: migrations are pending .*\nReady\.\n$/m.test(service.stderr()));
  });

  test('names the hosts that webhooks go to, once each and without their paths, and a variable of .env that is probably mistyped', async () => {
    const urls = ['http://localhost:9/secret-path', 'http://localhost:9/other-path', 'http://127.0.0.1:9/'];
    const pages = { CORS_ORIGINS: 'https://app.example', BASE_URL: 'https://plants.example' };
    // Beside a real environment, which wins.
    const variables = { ...webhooksTo(...urls), ...pages, LOGLEVEL: 'debug', PORT: 'not-a-port', ACCESS_TOKENS: TOKEN };
    const folder = await temporaryFolder();
    const lines = Object.entries(variables).map(([name, value]) => `${name}="${value}"\n`);
    await writeFile(join(folder, '.env'), `# comment\n${lines.join('')}`);
    const service = await startService(folder, { DATABASE_URL: database.url, PORT: '0' });
    expect((await post(service, monstera)).status).toBe(200);
    const line = /API documentation: (\S+)\n/;
    await service.until(() => line.test(service.stderr()));
    await service.until(() => service.stderr().includes('\nWebhooks go to localhost:9, 127.0.0.1:9\n'));
    expect(service.stderr()).not.toContain('-path');
    const [, reference = ''] = line.exec(service.stderr()) ?? [];
    const answer = await fetch(reference, { headers: { Origin: 'https://app.example' } });
    expect(answer.headers.get('Access-Control-Allow-Origin')).toBe('https://app.example');
    expect(answer.headers.get('Content-Security-Policy')).toContain("connect-src 'self' https://plants.example;");
    expect(await answer.text()).toContain('<title>Plant Store API</title>');
    const warning = 'LOGLEVEL is not a variable of Plant Store and has no effect: did you mean LOG_LEVEL?';
    expect(service.stderr()).toContain(`Warning: ${warning}\n`);
    await service.until(() => service.stdout().includes(`,"msg":"${warning}"}\n`));
  });

  test('logs a lost connection once, without what the driver knows of it, such as the password, and connects again', async () => {
    const own = await emptyDatabase();
    const DATABASE_URL = Object.assign(new URL(own.url), { password: 'database-password' }).href;
    const service = await start({ DATABASE_URL, IDLE_TIMEOUT: '10m', LOG_LEVEL: 'trace' });
    // A connection that is in use is not reported, since its statement is tried again: the checks of the start are over.
    await service.until(() => service.stderr().includes('Not ready: '));
    await applyMigrations(own.directUrl);
    await service.until(() => service.stderr().endsWith('Ready.\n'));
    expect((await post(service, monstera)).status).toBe(200);
    const listed = await commandLine(service.pid);
    expect(listed).toContain('main.ts');
    expect(listed).not.toMatch(new RegExp(`${TOKEN}|database-password`));
    const connections = `from pg_stat_activity
      where application_name = 'plant-store' and datname = current_database()`;
    await eventually(async () => (await own.query(`select ${connections} and state <> 'idle'`)).length === 0);
    const ended = await own.query(`select pg_terminate_backend(pid) ${connections}`);
    const lost = () => service.stdout().match(/^.*"database connection lost".*$/gm) ?? [];
    await service.until(() => lost().length >= ended.length);
    expect((await post(service, monstera)).status).toBe(200);
    service.kill('SIGTERM');
    await service.exited;
    expect(service.stdout()).not.toMatch(/secretKey|connectionParameters/);
    expect(lost()).toHaveLength(ended.length);
    expect(service.stdout() + service.stderr()).not.toContain('database-password');
  });

  test('does not show the password of a database that is not there', async () => {
    const nowhere = 'postgres://plants:database-password@127.0.0.1:1/plants';
    const soon = { CONNECT_TIMEOUT: '500ms', STATEMENT_TIMEOUT: '500ms', STORE_TIMEOUT: '1s' };
    const service = await start({ DATABASE_URL: nowhere, LOG_LEVEL: 'trace', ...soon });
    expect((await post(service, monstera)).status).toBe(503);
    expect(await ready(service)).toMatchObject({ status: 503 });
    expect(service.stdout() + service.stderr()).not.toContain('database-password');
  });
});

describe('cannot start', () => {
  const POSTGRES = { DATABASE_URL: 'postgres://127.0.0.1:1/plants', ACCESS_TOKENS: TOKEN };
  const outcomeWith = async (environment: Record<string, string>) =>
    startMain(await temporaryFolder(), environment).outcome();

  test('on a PORT in use, and says so', async () => {
    const PORT = `${await listening(createServer())}`;
    const message = `PORT ${PORT} is in use: stop the process that listens there, or set PORT to another port`;
    const stderr = `Plant Store cannot start.\n${message}\n`;
    expect(await outcomeWith({ ...POSTGRES, PORT })).toMatchObject({ code: 1, stderr });
  });

  test('on an address that is not this machine, and says what to change', async () => {
    // RFC 5737: nobody's.
    const { code, stderr } = await outcomeWith({ ...POSTGRES, HOST: '192.0.2.1' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Plant Store cannot start\.\nlisten \w+: .* 192\.0\.2\.1.*: change HOST or PORT\n$/);
  });

  test('with a bad configuration, and lists all mistakes at once', async () => {
    const { code, stdout, stderr } = await outcomeWith({ ...POSTGRES, PORT: '80000', LOG_LEVEL: 'loud' });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Plant Store cannot start\.\nPORT must be .*\nLOG_LEVEL must be .*\n$/);
  });
});
