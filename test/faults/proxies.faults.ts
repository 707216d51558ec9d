import { describe, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { TOKEN } from '../support/api-server.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { startHaproxy } from '../support/servers/haproxy.ts';
import { documentedNginx, ingress, startNginx } from '../support/servers/nginx.ts';
import { type Service, startService, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

/* That the proxies which the documents set up hold up no request of the API. */

const database = forAllTests(() => migratedDatabase());

const start = async () =>
  startService(await temporaryFolder(), { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN, LOG_LEVEL: 'warn' });
const portOf = (url: string) => Number(new URL(url).port);

describe.each([
  [
    'HAProxy, as deploy/haproxy.cfg sets it up',
    async ({ apiUrl, managementUrl }: Service) => {
      const places = [{ apiPort: portOf(apiUrl), managementPort: portOf(managementUrl) }];
      const proxy = await startHaproxy(places);
      await proxy.instancesUp(1);
      return proxy.url;
    },
  ],
  ['nginx, as the Ingress sets it up', async ({ apiUrl }: Service) => startNginx(await ingress(apiUrl))],
  [
    'nginx, as deploy/nginx.conf sets it up',
    async ({ apiUrl }: Service) => startNginx(await documentedNginx([apiUrl])),
  ],
])('%s', (_name, startProxy) => {
  test('waits for changes as long as a client may ask for', async () => {
    const client = apiClient(await startProxy(await start()));
    const { next } = JSON.parse((await client.send('GET', '/changes')).body);
    const { status, body } = await client.send('GET', `/changes?after=${next}&wait=30`);
    expect([status, body]).toEqual([200, expect.stringContaining('"changes":[]')]);
    client.close();
  });

  test('leaves the refusal of a large body to the service', async () => {
    const client = apiClient(await startProxy(await start()));
    const body = JSON.stringify({ id: 1, name: 'a'.repeat(1024 ** 2) });
    expect(await client.send('POST', '/plants', { body })).toMatchObject({ status: 400, error: 40013 });
    client.close();
  });
});
