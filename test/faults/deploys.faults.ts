import { expect, jest, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { faultless, judge, naturals, startLoad } from '../support/load-clients.ts';
import { debianProgram } from '../support/servers/debian-program.ts';
import { type Instance, startHaproxy } from '../support/servers/haproxy.ts';
import { type Service, startService, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';

/* Deploys as clients see them: not at all. With FAULT_PROCESSES=2 every instance has so many processes. */

jest.setTimeout(900_000);

const haproxy = await debianProgram('haproxy');

const database = forEachTest(() => migratedDatabase());

async function start({ apiPort, managementPort }: Instance): Promise<Service> {
  return startService(await temporaryFolder(), {
    DATABASE_URL: database.url,
    ACCESS_TOKENS: TOKEN,
    PROCESSES: process.env.FAULT_PROCESSES ?? '',
    PORT: String(apiPort),
    MANAGEMENT_PORT: String(managementPort),
    // The default.
    SHUTDOWN_DELAY: '',
    LOG_LEVEL: 'warn',
  });
}

const behindHaproxy = haproxy === undefined ? test.skip : test;

behindHaproxy.each([
  ['as documented', undefined],
  ['without retries, as simpler balancers are', 0],
])('no request fails while instances behind haproxy, %s, are replaced one after another', async (_name, retries) => {
  const places = [await place(), await place()];
  const services = await Promise.all(places.map(start));
  const proxy = await startHaproxy(haproxy ?? '', places, retries);
  await proxy.instancesUp(places.length);

  const load = startLoad(proxy.url, naturals());
  for (let round = 0; round < faultRounds / 4; round++) {
    for (const [n, place] of places.entries()) {
      const before = load.acknowledged();
      await eventually(() => load.acknowledged() > before + 200);
      services[n]?.kill('SIGTERM');
      expect(await services[n]?.exited).toEqual({ code: 0, signal: null });
      services[n] = await start(place);
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
