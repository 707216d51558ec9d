import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { post, TOKEN } from './support/api-server.ts';
import { AUDIENCE, ISSUER, signingKey, startIdentityProvider, tokenOf } from './support/servers/identity-provider.ts';
import { run, type Service, startService, temporaryFolder } from './support/service-process.ts';
import { migratedDatabase } from './support/test-database.ts';

/* The whole service as its own process: its first start, which takes long, and what takes several starts. */

const create = ({ apiUrl }: Service, token: string) =>
  post(apiUrl, '{"id":1,"name":"Monstera deliciosa"}', { Authorization: `Bearer ${token}` });

test('shows a curl command that works as it is, and says what takes the seconds of its first start, also after an interrupted one, or that its database is gone', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'data/postgres.unfinished/base'), { recursive: true });
  await writeFile(join(folder, 'data/postgres.unfinished/PG_VERSION'), '18\n');
  const creating = 'Creating the embedded database in ./data, which takes some seconds ...\n';
  const first = await startService(folder);
  expect(first.stderr().startsWith(creating)).toBe(true);
  const { code, stdout } = await run('sh', ['-c', await first.curl()]);
  expect([code, JSON.parse(stdout)]).toEqual([0, { name: 'Monstera deliciosa', tag: 'houseplant' }]);
  expect((await readdir(join(folder, 'data'))).sort()).toEqual(['access-token', 'plant-store.db', 'postgres']);
  first.kill('SIGKILL');
  await first.exited;
  const second = await startService(folder);
  expect(second.stderr()).not.toContain('Creating');
  second.kill('SIGKILL');
  await second.exited;

  await rm(join(folder, 'data/postgres'), { recursive: true });
  expect((await startService(folder)).stderr()).toMatch(
    /^Warning: \.\/data was in use before, since it has plant-store\.db and access-token, but .* EMPTY one .*\nCreating /,
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
