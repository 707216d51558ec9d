import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { post, TOKEN } from './support/api-server.ts';
import { startForwardProxy } from './support/servers/forward-proxy.ts';
import { AUDIENCE, ISSUER, signingKey, startIdentityProvider, tokenOf } from './support/servers/identity-provider.ts';
import { run, type Service, startService, temporaryFolder } from './support/service-process.ts';
import { migratedDatabase } from './support/test-database.ts';
import { webhooksTo } from './support/webhooks/webhook-receiver.ts';

/* The whole service as its own process: its first start, which takes long, and what takes several starts. */

const create = ({ apiUrl }: Service, token: string) =>
  post(apiUrl, '{"id":1,"name":"Monstera deliciosa"}', { Authorization: `Bearer ${token}` });

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
  const [key, unknownKey] = await Promise.all([signingKey('known'), signingKey('unknown')]);
  const provider = await startIdentityProvider(key);
  const start = async (ACCESS_TOKENS: string) => {
    const jwt = { JWT_JWKS_URL: provider.url, JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE };
    return startService(await temporaryFolder(), { DATABASE_URL, ACCESS_TOKENS, ...jwt });
  };
  const [alone, beside] = [await start(''), await start(TOKEN)];
  const token = await tokenOf(key);
  for (const service of [alone, beside]) expect((await create(service, token)).status).toBe(200);
  expect((await create(alone, TOKEN)).status).toBe(401);
  expect((await create(beside, TOKEN)).status).toBe(200);

  await provider.goDown();
  expect((await create(beside, await tokenOf(key, { jti: 'new' }))).status).toBe(200);
  const fresh = await start(TOKEN);
  const refused = await create(fresh, await tokenOf(unknownKey));
  expect([refused.status, await refused.json()]).toMatchObject([503, { error: 50300 }]);
  expect(refused.headers.get('Retry-After')).toBe('1');
  expect((await create(fresh, TOKEN)).status).toBe(200);
  expect(alone.stdout()).not.toContain(token);
});

test('asks the proxy for keys and for the receivers of webhooks, and keeps idle connections as long as it is told', async () => {
  const proxy = await startForwardProxy();
  const keys = { JWT_JWKS_URL: 'https://login.invalid/keys', JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE };
  const service = await startService(await temporaryFolder(), {
    ...keys,
    ...webhooksTo('https://hooks.invalid:8443/plants'),
    HTTPS_PROXY: proxy.url,
    KEEP_ALIVE_TIMEOUT: '11m',
    ACCESS_TOKENS: TOKEN,
  });
  expect((await create(service, TOKEN)).status).toBe(200);
  expect((await fetch(`${service.apiUrl}/openapi.json`)).headers.get('Keep-Alive')).toBe('timeout=660');
  await service.until(() => new Set(proxy.asked).size === 2);
  expect(proxy.asked).toEqual(expect.arrayContaining(['login.invalid:443', 'hooks.invalid:8443']));
  expect(service.stdout() + service.stderr()).not.toMatch(/p%40ss|p@ss/);
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
