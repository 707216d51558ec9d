import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { CLOSE, post, TOKEN } from './support/api-server.ts';
import { eventually } from './support/eventually.ts';
import { connectTo } from './support/http-bytes.ts';
import { forAllTests } from './support/lifetimes.ts';
import { beginUpload } from './support/raw-request.ts';
import { startForwardProxy } from './support/servers/forward-proxy.ts';
import { AUDIENCE, ISSUER, signingKey, startIdentityProvider, tokenOf } from './support/servers/identity-provider.ts';
import { listening } from './support/servers/local-server.ts';
import {
  readiness,
  run,
  type Service,
  startMain,
  startService,
  startWith,
  temporaryFolder,
} from './support/service-process.ts';
import { applyMigrations, emptyDatabase, migratedDatabase } from './support/test-database.ts';
import { webhooksTo } from './support/webhooks/webhook-receiver.ts';

/* The whole service as its own process: what takes long, or several starts. */

const PLANT = '{"id":1,"name":"Monstera deliciosa"}';

const create = ({ apiUrl }: Service, token = TOKEN, body = PLANT) =>
  post(apiUrl, body, { Authorization: `Bearer ${token}` });

test('shows a curl command that works as it is, and says that its database is gone', async () => {
  const folder = await temporaryFolder();
  const first = await startService(folder);
  const { code, stdout } = await run('sh', ['-c', await first.curl()]);
  expect([code, JSON.parse(stdout)]).toEqual([0, { name: 'Monstera deliciosa', tag: 'houseplant' }]);
  first.kill('SIGTERM');
  await first.exited;
  expect((await readdir(join(folder, 'data'))).sort()).toEqual(['access-token', 'lock.db', 'plants.db']);

  await rm(join(folder, 'data/plants.db'));
  expect((await startService(folder)).stderr()).toMatch(
    /^Warning: \.\/data was in use before, since it has lock\.db and access-token, but .* EMPTY one .*\n/,
  );
});

test('accepts tokens of an identity provider, beside its own or alone', async () => {
  const { url: DATABASE_URL } = await migratedDatabase();
  const key = await signingKey('known');
  const provider = await startIdentityProvider(key);
  const start = async (ACCESS_TOKENS: string) => {
    const jwt = { JWT_JWKS_URL: provider.url, JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE };
    return startWith({ DATABASE_URL, ACCESS_TOKENS, ...jwt });
  };
  const [alone, beside] = [await start(''), await start(TOKEN)];
  const token = await tokenOf(key);
  for (const service of [alone, beside]) expect((await create(service, token)).status).toBe(200);
  expect((await create(alone, TOKEN)).status).toBe(401);
  expect((await create(beside, TOKEN)).status).toBe(200);
  expect(alone.stdout()).not.toContain(token);
});

test('asks the proxy for keys and for receivers, and keeps idle connections', async () => {
  const proxy = await startForwardProxy();
  const keys = { JWT_JWKS_URL: 'https://login.invalid/keys', JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE };
  const service = await startWith({
    ...keys,
    ...webhooksTo('https://hooks.invalid:8443/plants'),
    HTTPS_PROXY: proxy.url,
    KEEP_ALIVE_TIMEOUT: '11m',
  });
  expect((await create(service, TOKEN)).status).toBe(200);
  expect((await fetch(`${service.apiUrl}/openapi.json`)).headers.get('Keep-Alive')).toBe('timeout=660');
  await service.eventually(async () => new Set(proxy.asked).size === 2);
  expect(proxy.asked).toEqual(expect.arrayContaining(['login.invalid:443', 'hooks.invalid:8443']));
  expect(service.stdout() + service.stderr()).not.toMatch(/p%40ss|p@ss/);
});

test('without any configuration writes JSON lines only, and hides its token', async () => {
  const folder = await temporaryFolder();
  const service = await startService(folder, { LOG_LEVEL: 'trace' });
  const curl = await service.curl();
  const [, token = ''] = /'Authorization: Bearer ([^']*)'/.exec(curl) ?? [];
  const message = 'another process has opened the database in ./data: stop that one, or set DATA_DIR to another folder';
  const stderr = `Plant Store cannot start.\n${message}\n`;
  expect(await startMain(folder).outcome()).toMatchObject({ code: 1, stderr });
  await create(service, token);
  await create(service, `${token}${token}`, '{"name":1}');
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

test('takes little memory while nobody asks for anything', async () => {
  // What V8 had to compile at a first start takes 25 MB more.
  const first = await startService(await temporaryFolder());
  first.kill('SIGTERM');
  await first.exited;
  const { pid } = await startService(await temporaryFolder());
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  expect(Number(kilobytes)).toBeLessThan(120 * 1024);
});

describe('on Postgres', () => {
  const database = forAllTests(migratedDatabase);

  const start = async (environment: Record<string, string> = {}) =>
    startWith({ DATABASE_URL: database.url, ...environment });

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
    while ((await readiness(service)).status !== 503);
  }

  test('when it has to stop, finishes what is in flight within SHUTDOWN_TIMEOUT', async () => {
    const service = await start({ SHUTDOWN_TIMEOUT: '10s' });
    const following = follow(service, (await follow(service, 'now')).next);
    await followers(service, 1);
    const { finish } = await beginUpload(service.apiUrl, PLANT);
    await once(connectTo(service.apiUrl), 'connect');
    const { socket: unfinished } = await beginUpload(service.apiUrl);
    unfinished.write('{');
    await beginToStop(service);
    expect(await readiness(service)).toMatchObject({ status: 503, error: 50300, checks: { service: 'shutting down' } });
    expect((await fetch(`${service.managementUrl}/live`)).status).toBe(200);
    await expect(fetch(`${service.apiUrl}/openapi.json`)).rejects.toThrow('fetch failed');
    expect(await following).toMatchObject({ changes: [] });

    const answer = await finish();
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/^Connection: close\r$/im);
    expect(answer).toMatch(/\r\n\r\n{"name":"Monstera deliciosa"}$/);
    // It would be 1 after the time is over.
    expect(await service.exited).toEqual({ code: 0, signal: null });
  });

  test('lets followers wait while it still accepts connections', async () => {
    const service = await start({ SHUTDOWN_DELAY: '5m', SHUTDOWN_TIMEOUT: '10m' });
    const { next } = await follow(service, 'now');
    await beginToStop(service);
    for (let n = 0; n < 2; n++) {
      const { status, headers } = await fetch(`${service.apiUrl}/openapi.json`);
      expect([status, headers.get('Connection')]).toEqual([200, 'close']);
    }
    const following = follow(service, next);
    // Its request was sent before this one.
    const plant = PLANT.replace('1', '7');
    expect((await create(service, TOKEN, plant)).status).toBe(200);
    expect(await following).toMatchObject({ changes: [JSON.parse(plant)] });
  });

  test('notices migrations that are applied later, without a restart', async () => {
    const { url: DATABASE_URL, directUrl } = await emptyDatabase();
    const service = await start({ DATABASE_URL });
    const pending = expect.stringMatching(/^migrations are pending \(0001_create_plants, .*\): run npm run migrate$/);
    await service.until(() => /^Not ready: migrations are pending .*\n$/m.test(service.stderr()));
    expect((await fetch(`${service.managementUrl}/live`)).status).toBe(200);
    expect(await readiness(service)).toMatchObject({ status: 503, error: 50300, checks: { database: pending } });
    expect((await fetch(`${service.apiUrl}/plants`, { method: 'POST' })).status).toBe(401);
    const refused = await create(service);
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: 50300 }]);
    expect(refused.headers.get('Retry-After')).toBe('1');

    await applyMigrations(directUrl);
    expect((await create(service)).status).toBe(200);
    expect(await readiness(service)).toMatchObject({ status: 200 });
    await service.until(() => /^Not ready: migrations are pending .*\nReady\.\n$/m.test(service.stderr()));
  });

  test('logs a lost connection once, without its password, and connects again', async () => {
    const own = await emptyDatabase();
    const DATABASE_URL = Object.assign(new URL(own.url), { password: 'database-password' }).href;
    const service = await start({ DATABASE_URL, LOG_LEVEL: 'trace' });
    // A connection that is in use is not reported, since its statement is tried again: the checks of the start are over.
    await service.until(() => service.stderr().includes('Not ready: '));
    await applyMigrations(own.directUrl);
    await service.until(() => service.stderr().endsWith('Ready.\n'));
    expect((await create(service)).status).toBe(200);
    // What ps shows to every user of the machine.
    const listed = await readFile(`/proc/${service.pid}/cmdline`, 'utf8');
    expect(listed).toContain('main.ts');
    expect(listed).not.toMatch(new RegExp(`${TOKEN}|database-password`));
    const connections = `from pg_stat_activity
      where application_name = 'plant-store' and datname = current_database()`;
    await eventually(async () => (await own.query(`select ${connections} and state <> 'idle'`)).length === 0);
    const ended = await own.query(`select pg_terminate_backend(pid) ${connections}`);
    const lost = () => service.stdout().match(/^.*"database connection lost".*$/gm) ?? [];
    await service.until(() => lost().length >= ended.length);
    expect((await create(service)).status).toBe(200);
    service.kill('SIGTERM');
    await service.exited;
    expect(service.stdout()).not.toMatch(/secretKey|connectionParameters/);
    expect(lost()).toHaveLength(ended.length);
    expect(service.stdout() + service.stderr()).not.toContain('database-password');
  });
});

test('cannot start on a PORT in use or on another machine, and says what to change', async () => {
  const PORT = `${await listening(createServer())}`;
  const inUse = `another process listens at PORT ${PORT}: stop it, or set PORT to another port`;
  // RFC 5737: nobody's.
  const HOST = '192.0.2.1';
  for (const [variables, message] of [
    [{ PORT }, inUse],
    [{ HOST }, `listen \\w+: .* ${HOST}.*: change HOST or PORT`],
  ] as const) {
    const stderr = expect.stringMatching(`^Plant Store cannot start\\.\\n${message}\\n$`);
    expect(await startMain(await temporaryFolder(), variables).outcome()).toMatchObject({ code: 1, stderr });
  }
});
