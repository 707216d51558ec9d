import { expect, jest, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { CLOSE } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { ROUNDS } from '../support/faults/crash-rounds.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { CLIENTS, naturals, startLoad } from '../support/load-clients.ts';
import { samplesIn } from '../support/monitoring/prometheus.ts';
import { differences } from '../support/plants/changes.ts';
import { type Service, startWith } from '../support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';

/* Four instances that share one port by REUSE_PORT, under 64 connections, half of them for one request each. */

jest.setTimeout(900_000);

const INSTANCES = 4;
const LOADS = 4;

const database = forEachTest(() => migratedDatabase());

async function startInstance(port: number, managementPort = 0): Promise<Service> {
  const service = await startWith({
    MANAGEMENT_PORT: `${managementPort}`,
    DATABASE_URL: database.url,
    REUSE_PORT: 'on',
    PORT: `${port}`,
    // Some connections of the load are idle, and a busy machine may take long.
    SHUTDOWN_TIMEOUT: '4s',
    STORE_TIMEOUT: '60s',
    LOG_LEVEL: 'error',
  });
  await service.eventually(async () => (await fetch(`${service.managementUrl}/ready`, { headers: CLOSE })).ok);
  return service;
}

/** How many creates an instance has answered. */
async function created({ managementUrl }: Service): Promise<number> {
  const metrics = await (await fetch(`${managementUrl}/metrics`, { headers: CLOSE })).text();
  const ofCreates = samplesIn(metrics).filter(
    ({ name, labels }) => name === 'http_requests_total' && labels.operation === 'createPlant',
  );
  return ofCreates.reduce((sum, { value }) => sum + value, 0);
}

function startLoads(url: string) {
  const numbers = naturals();
  return Array.from({ length: LOADS }, (_, n) => startLoad(url, numbers, { keepAlive: n % 2 === 0 }));
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'all serve, and restarted one after another by %s they lose nothing acknowledged',
  async (signal) => {
    const port = await freePort();
    const first = await startInstance(port);
    const loads = startLoads(`http://127.0.0.1:${port}`);
    const others = Array.from({ length: INSTANCES - 1 }, () => startInstance(port));
    const instances = [first, ...(await Promise.all(others))];
    await eventually(async () => Math.min(...(await Promise.all(instances.map(created)))) > 100);
    // Those that start take no connection from others.
    for (const { unsettled } of loads) expect(unsettled).toEqual({ lost: 0, unavailable: 0 });
    const acknowledged = () => sum(loads.map((load) => load.acknowledged()));
    for (let round = 0; round < ROUNDS; round++) {
      for (let n = 0; n < INSTANCES; n++) {
        const before = acknowledged();
        await eventually(() => acknowledged() > before + 500);
        instances[n]?.kill(signal);
        const exit = signal === 'SIGTERM' ? { code: 0, signal: null } : { code: null, signal };
        expect(await instances[n]?.exited).toEqual(exit);
        instances[n] = await startInstance(port);
      }
    }
    const stored = (await Promise.all(loads.map(({ stop }) => stop()))).flat();
    const failed = sum(loads.map(({ unsettled }) => unsettled.lost));
    process.stdout.write(
      `${ROUNDS * INSTANCES} instances ended by ${signal} during ${acknowledged()} writes: ${failed} requests failed\n`,
    );
    expect(differences(stored, await storedPlantsAt(database.url))).toEqual([]);
    expect(sum(loads.map(({ unsettled }) => unsettled.unavailable))).toBe(0);
    // Requests in flight, and connections that the ended instance had not accepted: at most each connection's once.
    expect(failed).toBeLessThan(ROUNDS * INSTANCES * LOADS * CLIENTS);
  },
);

test('the management port is not shared', async () => {
  const [port, managementPort] = [await freePort(), await freePort()];
  await startInstance(port, managementPort);
  await expect(startInstance(port, managementPort)).rejects.toThrow(
    `another process listens at MANAGEMENT_PORT ${managementPort}: `,
  );
});
