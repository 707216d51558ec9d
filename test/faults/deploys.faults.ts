import { expect, jest, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { eventually } from '../support/eventually.ts';
import { ROUNDS } from '../support/faults/crash-rounds.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { naturals, startLoad } from '../support/load-clients.ts';
import { differences } from '../support/plants/changes.ts';
import { documentedNginx, type Instance, startHaproxy, startNginx } from '../support/servers/proxies.ts';
import { type Service, startWith } from '../support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';
import { agrees, startReceiver, webhooksTo } from '../support/webhooks/webhook-receiver.ts';

/* Deploys as clients and receivers of webhooks see them: not at all, or as a pause of seconds. */

jest.setTimeout(900_000);

const database = forEachTest(() => migratedDatabase());

async function start(
  { apiPort, managementPort }: Instance,
  SHUTDOWN_DELAY: string,
  webhooks: Record<string, string>,
): Promise<Service> {
  return startWith({
    DATABASE_URL: database.url,
    PORT: String(apiPort),
    MANAGEMENT_PORT: String(managementPort),
    SHUTDOWN_DELAY,
    LOG_LEVEL: 'warn',
    ...webhooks,
  });
}

interface Proxy {
  readonly url: string;
  instancesUp(count: number): Promise<void>;
}

type StartProxy = (places: readonly Instance[]) => Promise<Proxy>;

async function nginxBefore(places: readonly Instance[]): Promise<Proxy> {
  const configuration = await documentedNginx(places.map(({ apiPort }) => `http://127.0.0.1:${apiPort}`));
  return { url: await startNginx(configuration), instancesUp: async () => {} };
}

const place = async (): Promise<Instance> => ({ apiPort: await freePort(), managementPort: await freePort() });

/** Two instances behind a proxy, which are replaced one after another, under load. */
async function deploy(startProxy: StartProxy, delay: string, webhooks: Record<string, string> = {}) {
  const places = [await place(), await place()];
  const services = await Promise.all(places.map((place) => start(place, delay, webhooks)));
  const proxy = await startProxy(places);
  await proxy.instancesUp(places.length);
  const load = startLoad(proxy.url, naturals());
  return {
    load,
    /** Each of them, once this has grown by 200, and again in each round. */
    async replace(grows: () => number): Promise<void> {
      for (let round = 0; round < ROUNDS; round++) {
        for (const [n, place] of places.entries()) {
          const before = grows();
          await eventually(() => grows() > before + 200, 60_000);
          services[n]?.kill('SIGTERM');
          expect(await services[n]?.exited).toEqual({ code: 0, signal: null });
          services[n] = await start(place, delay, webhooks);
          await proxy.instancesUp(places.length);
        }
      }
    },
  };
}

/** The default. */
const DELAY = '';

test.each<[name: string, delay: string, StartProxy]>([
  ['haproxy as documented', DELAY, startHaproxy],
  ['haproxy without retries, as simpler balancers are', DELAY, (places) => startHaproxy(places, 0)],
  ['nginx as documented', DELAY, nginxBefore],
  ['nginx as documented, which needs no SHUTDOWN_DELAY', '0', nginxBefore],
])('no request fails while instances behind %s, are replaced one after another', async (_name, delay, startProxy) => {
  const { load, replace } = await deploy(startProxy, delay);
  await replace(load.acknowledged);
  const stored = await load.stop();
  process.stdout.write(`instances replaced during ${load.acknowledged()} writes\n`);
  expect(load.unsettled).toEqual({ lost: 0, unavailable: 0 });
  expect(differences(stored, await storedPlantsAt(database.url))).toEqual([]);
});

test('webhooks pause for a turn of their loop at most while instances are replaced', async () => {
  const receiver = await startReceiver();
  let [last, longest] = [Number.POSITIVE_INFINITY, 0];
  receiver.trouble(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    return false;
  });
  const { load, replace } = await deploy(startHaproxy, DELAY, webhooksTo(receiver.url));
  await replace(() => receiver.received.length);
  await load.stop();
  const table = await storedPlantsAt(database.url);
  await eventually(() => agrees(receiver, table), 300_000);
  process.stdout.write(`the longest pause between two deliveries was ${(longest / 1_000).toFixed(1)} s\n`);
  expect(longest).toBeLessThan(6_000);
});
