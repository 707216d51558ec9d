import { expect, jest, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { faultless, judge, naturals, startLoad } from '../support/load-clients.ts';
import { debianProgram } from '../support/servers/debian-program.ts';
import { type Instance, startHaproxy } from '../support/servers/haproxy.ts';
import { documentedNginx, startNginx } from '../support/servers/nginx.ts';
import { type Service, startService, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';

/* Deploys as clients see them: not at all. */

jest.setTimeout(900_000);

const haproxy = debianProgram('haproxy');
const nginx = debianProgram('nginx', 'nginx-light');

const database = forEachTest(() => migratedDatabase());

async function start({ apiPort, managementPort }: Instance, SHUTDOWN_DELAY: string): Promise<Service> {
  return startService(await temporaryFolder(), {
    DATABASE_URL: database.url,
    ACCESS_TOKENS: TOKEN,
    PORT: String(apiPort),
    MANAGEMENT_PORT: String(managementPort),
    SHUTDOWN_DELAY,
    LOG_LEVEL: 'warn',
  });
}

interface Proxy {
  readonly url: string;
  instancesUp(count: number): Promise<void>;
}

async function nginxBefore(places: readonly Instance[]): Promise<Proxy> {
  const configuration = await documentedNginx(places.map(({ apiPort }) => `http://127.0.0.1:${apiPort}`));
  return { url: await startNginx(nginx, configuration), instancesUp: async () => {} };
}

/** The default. */
const DELAY = '';

test.each<[name: string, delay: string, (places: readonly Instance[]) => Promise<Proxy>]>([
  ['haproxy as documented', DELAY, (places) => startHaproxy(haproxy, places)],
  ['haproxy without retries, as simpler balancers are', DELAY, (places) => startHaproxy(haproxy, places, 0)],
  ['nginx as documented', DELAY, nginxBefore],
  ['nginx as documented, which needs no SHUTDOWN_DELAY', '0', nginxBefore],
])('no request fails while instances behind %s, are replaced one after another', async (_name, delay, startProxy) => {
  const places = [await place(), await place()];
  const services = await Promise.all(places.map((place) => start(place, delay)));
  const proxy = await startProxy(places);
  await proxy.instancesUp(places.length);

  const load = startLoad(proxy.url, naturals());
  for (let round = 0; round < faultRounds / 4; round++) {
    for (const [n, place] of places.entries()) {
      const before = load.acknowledged();
      await eventually(() => load.acknowledged() > before + 200);
      services[n]?.kill('SIGTERM');
      expect(await services[n]?.exited).toEqual({ code: 0, signal: null });
      services[n] = await start(place, delay);
      await proxy.instancesUp(places.length);
    }
  }
  const replaced = Math.ceil(faultRounds / 4) * places.length;
  const answers = await load.stop();
  process.stdout.write(`${replaced} instances replaced during ${answers.length} requests\n`);

  const verdict = judge(answers, await storedPlantsAt(database.url));
  expect(load.unsettled).toEqual({ lost: 0, unavailable: 0 });
  expect(verdict).toEqual(faultless);
});

async function place(): Promise<Instance> {
  return { apiPort: await freePort(), managementPort: await freePort() };
}
