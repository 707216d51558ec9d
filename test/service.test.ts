import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { get, post as postBody, TOKEN } from './support/api-server.ts';
import { type Service, startMain, startService, temporaryFolder } from './support/service-process.ts';
import { migratedDatabase } from './support/test-database.ts';
import { webhooksTo } from './support/webhooks/webhook-receiver.ts';

/* The whole service as its own process, as its users meet it. */

const monstera = { id: 1, name: 'Monstera deliciosa', tag: 'houseplant' };

const post = ({ apiUrl }: Service, plant: object, token = TOKEN) =>
  postBody(apiUrl, JSON.stringify(plant), { Authorization: `Bearer ${token}` });

async function readBack({ apiUrl }: Service, token = TOKEN): Promise<void> {
  const response = await get(apiUrl, '/plants/1', { Authorization: `Bearer ${token}` });
  expect([response.status, await response.json()]).toEqual([200, monstera]);
}

test('without any configuration has its private token and its plant after kill -9', async () => {
  const folder = await temporaryFolder();
  const first = await startService(folder);
  const curl = await first.curl();
  const [, token = ''] = /'Authorization: Bearer ([^']*)'/.exec(curl) ?? [];
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(curl).toBe(
    `curl ${first.apiUrl}/plants -H 'Authorization: Bearer ${token}'` +
      ` -H 'Content-Type: application/json' -d '${JSON.stringify(monstera)}'`,
  );
  for (const url of [first.managementUrl, first.apiUrl]) expect((await fetch(`${url}/ready`)).status).toBe(200);
  expect((await post(first, monstera, token)).status).toBe(200);
  first.kill('SIGKILL');
  await first.exited;
  const file = join(folder, 'data/access-token');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readFile(file, 'utf8')).toBe(`${token}\n`);

  const second = await startService(folder);
  expect(await second.curl()).toContain(`Bearer ${token}'`);
  await readBack(second, token);
  expect((await post(second, monstera, token)).status).toBe(200);
  expect((await post(second, { ...monstera, name: 'Monstera adansonii' }, token)).status).toBe(400);
});

test('on Postgres names the hosts that webhooks go to, without their paths', async () => {
  const urls = ['http://localhost:9/secret-path', 'http://localhost:9/other-path', 'http://127.0.0.1:9/'];
  const pages = { CORS_ORIGINS: 'https://app.example', BASE_URL: 'https://plants.example' };
  // Beside a real environment, which wins.
  const variables = { ...webhooksTo(...urls), ...pages, PORT: 'not-a-port', ACCESS_TOKENS: TOKEN };
  const folder = await temporaryFolder();
  const lines = Object.entries(variables).map(([name, value]) => `${name}="${value}"\n`);
  await writeFile(join(folder, '.env'), `# comment\n${lines.join('')}`);
  const service = await startService(folder, { DATABASE_URL: (await migratedDatabase()).url, PORT: '0' });
  expect((await post(service, monstera)).status).toBe(200);
  await readBack(service);
  const line = /API documentation: (\S+)\n/;
  await service.until(() => line.test(service.stderr()));
  await service.until(() => service.stderr().includes('\nWebhooks go to localhost:9, 127.0.0.1:9\n'));
  expect(service.stderr()).not.toContain('-path');
  const [, reference = ''] = line.exec(service.stderr()) ?? [];
  const answer = await fetch(reference, { headers: { Origin: 'https://app.example' } });
  expect(answer.headers.get('Access-Control-Allow-Origin')).toBe('https://app.example');
  expect(answer.headers.get('Content-Security-Policy')).toContain("connect-src 'self' https://plants.example;");
  expect(await answer.text()).toContain('<title>Plant Store API</title>');
});

test('cannot start with a bad configuration, and lists all mistakes at once', async () => {
  const environment = { PORT: '80000', LOG_LEVEL: 'loud' };
  const { code, stdout, stderr } = await startMain(await temporaryFolder(), environment).outcome();
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^Plant Store cannot start\.\nPORT must be .*\nLOG_LEVEL must be .*\n$/);
});
