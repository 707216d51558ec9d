import { connect, createServer } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { listening } from '../support/servers/local-server.ts';
import { documentedCaddy, documentedNginx, startCaddy, startHaproxy, startNginx } from '../support/servers/proxies.ts';
import { type Service, startWith } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

/* That the proxies which the documents set up hold up no request of the API, and lose none. */

const database = forAllTests(() => migratedDatabase());

const start = (environment: Record<string, string> = {}) =>
  startWith({ DATABASE_URL: database.url, LOG_LEVEL: 'warn', ...environment });
const portOf = (url: string) => Number(new URL(url).port);

/** Lies between a proxy and the service. `open` is how many connections there are, `closers` which side closed them first. */
async function startRelay(apiUrl: string) {
  const relay = { url: '', open: 0, closers: new Set<'proxy' | 'service'>() };
  const server = createServer((fromProxy) => {
    relay.open++;
    const toService = connect(portOf(apiUrl), '127.0.0.1');
    fromProxy.pipe(toService).pipe(fromProxy);
    let isOver = false;
    const over = (closer: 'proxy' | 'service') => () => {
      if (!isOver) relay.closers.add(closer);
      isOver = true;
    };
    fromProxy.on('end', over('proxy')).on('error', over('proxy'));
    toService.on('end', over('service')).on('error', over('service'));
    fromProxy.once('close', () => {
      toService.destroy();
      relay.open--;
    });
  });
  relay.url = `http://127.0.0.1:${await listening(server)}`;
  return relay;
}

type Edit = (configuration: string) => string;
const asIs: Edit = (configuration) => configuration;
/** Has nginx keep idle connections for a second. HAProxy keeps them for as long as its client's. */
const impatient: Edit = (configuration) =>
  configuration.replace(/keepalive \d+;/, '$& keepalive_timeout 1s;').replace('keepalive 60s', 'keepalive 1s');

describe.each<[name: string, startProxy: (service: Service, edit?: Edit) => Promise<string>]>([
  [
    'HAProxy, as deploy/haproxy.cfg sets it up',
    async ({ apiUrl, managementUrl }) => {
      const places = [{ apiPort: portOf(apiUrl), managementPort: portOf(managementUrl) }];
      const proxy = await startHaproxy(places);
      await proxy.instancesUp(1);
      return proxy.url;
    },
  ],
  [
    'Caddy, as deploy/Caddyfile sets it up',
    async ({ apiUrl }, edit = asIs) => startCaddy(edit(await documentedCaddy([apiUrl]))),
  ],
  [
    'nginx, as deploy/nginx.conf sets it up',
    async ({ apiUrl }, edit = asIs) => startNginx(edit(await documentedNginx([apiUrl]))),
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

  test('leaves headers of 31 KiB to the service', async () => {
    const url = `${await startProxy(await start())}/plants?name=${'x'.repeat(31 * 1024)}`;
    const response = await fetch(url, { headers: { Authorization: `Bearer ${TOKEN}` } });
    expect(await response.json()).toMatchObject({ error: 40022 });
  });

  test('loses no request after a connection was idle beyond KEEP_ALIVE_TIMEOUT', async () => {
    const service = await start({ KEEP_ALIVE_TIMEOUT: '1s' });
    const relay = await startRelay(service.apiUrl);
    const client = apiClient(await startProxy({ ...service, apiUrl: relay.url }));
    for (const id of [1, 2]) {
      const body = JSON.stringify({ id, name: 'Monstera' });
      expect(await client.send('POST', '/plants', { body })).toMatchObject({ status: 200 });
      await eventually(() => relay.open === 0);
    }
  });

  test('closes its idle connections before the service does', async () => {
    const service = await start();
    const relay = await startRelay(service.apiUrl);
    const client = apiClient(await startProxy({ ...service, apiUrl: relay.url }, impatient));
    expect((await client.send('GET', '/plants/count')).status).toBe(200);
    client.close();
    await eventually(() => relay.open === 0);
    expect([...relay.closers]).toEqual(['proxy']);
  });
});
