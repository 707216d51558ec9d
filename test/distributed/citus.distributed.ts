import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { type CitusDatabase, citusDatabase } from '../../tooling/citus-cluster.ts';
import { execute } from '../../tooling/execute.ts';
import { apiClient } from '../support/api-client.ts';
import { eventually, eventuallySucceeds } from '../support/eventually.ts';
import { crashRounds } from '../support/faults/crash-rounds.ts';
import { type LocalProcess, listenerAt } from '../support/servers/local-process.ts';
import { type Service, startWith } from '../support/service-process.ts';
import { storedPlantsAt } from '../support/test-database.ts';

/* Servers of a Citus cluster die or freeze under the load of two instances. */

/** Milliseconds that a server stays away. */
const ABSENCE = 3_000;
/** Milliseconds that the service may need once it is back. */
const RECOVERY = 1_000;
/** Milliseconds that each client waits before a plant. */
const PAUSE = 25;

jest.setTimeout(30 * 60_000);

let database: CitusDatabase;
let services: readonly Service[];
beforeEach(async () => {
  database = await citusDatabase();
  await setting(`set citus.recover_2pc_interval = '1s'`);
  services = [await start(), await start()];
});
afterEach(async () => {
  await setting('reset citus.recover_2pc_interval');
  await database.drop();
});

const start = async () => startWith({ DATABASE_URL: database.url });

async function setting(change: string): Promise<void> {
  await database.query(`alter system ${change}`);
  await database.query('select pg_reload_conf()');
}

/** Resolves once a server executes statements. */
async function serves(port: number): Promise<void> {
  const url = new URL(database.url);
  url.port = `${port}`;
  await eventuallySucceeds(() => execute(url.href, 'select'));
}

async function killed(server: LocalProcess): Promise<void> {
  await server.kill();
  await delay(ABSENCE);
  server.start();
}

async function frozen(server: LocalProcess): Promise<void> {
  const resume = server.freeze();
  await delay(ABSENCE);
  resume();
}

test.each<[string, (server: LocalProcess) => Promise<void>, () => number | undefined]>([
  ['a worker of Citus, SIGKILL', killed, () => database.ports.workers[0]],
  ['a worker of Citus, SIGSTOP', frozen, () => database.ports.workers[1]],
  ['the coordinator of Citus, SIGKILL', killed, () => database.ports.coordinator],
  ['the coordinator of Citus, SIGSTOP', frozen, () => database.ports.coordinator],
])('loses nothing, and serves again soon after: %s', async (killed, spoil, portOf) => {
  const port = portOf() ?? 0;
  let absence = 0;
  await crashRounds({
    killed,
    urls: services.map(({ apiUrl }) => apiUrl),
    serviceLives: true,
    rows: () => storedPlantsAt(database.url),
    pause: PAUSE,
    async crash() {
      const began = performance.now();
      await spoil(listenerAt(port));
      await serves(port);
      absence = performance.now() - began;
    },
    survived(outages) {
      for (const { from, to } of outages) expect(to - from).toBeLessThan(absence + RECOVERY);
    },
  });
});

/** The first of these ids whose plants are on a node, as many as wanted. */
async function idsOn(port: number, count: number): Promise<bigint[]> {
  const rows = await database.query(
    `select id from generate_series(1000000, 1001000) as id
     join pg_dist_placement as placement on shardid = get_shard_id_for_distribution_column('plants', id)
     join pg_dist_node as node using (groupid) where nodeport = $1 order by id limit $2`,
    [port, count],
  );
  return rows.map(({ id = '' }) => BigInt(id));
}

test('creates, finds and deletes the plants of one node while another is away', async () => {
  const url = services[0]?.apiUrl ?? '';
  const [away = 0, here = 0] = database.ports.workers;
  const [lost, served] = [await idsOn(away, 40), await idsOn(here, 40)];
  const client = apiClient(url);
  const all = lost.flatMap((id, n) => [id, served[n] ?? 0n]);
  const statusesOf = async (request: (id: bigint) => Promise<{ readonly status: number }>) => {
    const statuses = await Promise.all(all.map(async (id) => [id, (await request(id)).status] as const));
    const of = (ids: readonly bigint[]) => statuses.filter(([id]) => ids.includes(id)).map(([, status]) => status);
    return { lost: [...new Set(of(lost))], served: [...new Set(of(served))] };
  };
  const worker = listenerAt(away);
  await worker.kill();
  try {
    const create = (id: bigint) => client.send('POST', '/plants', { body: `{"id":${id},"name":"on a node"}` });
    expect(await statusesOf(create)).toEqual({ lost: [503], served: [200] });
    expect(await statusesOf((id) => client.send('GET', `/plants/${id}`))).toEqual({ lost: [503], served: [200] });
    expect(await statusesOf((id) => client.send('DELETE', `/plants/${id}`))).toEqual({ lost: [503], served: [204] });
  } finally {
    client.close();
    worker.start();
  }
  await serves(away);
});

test('says in /ready that a node is away, and stays ready for the others', async () => {
  const [service] = services;
  const ready = async () => {
    const response = await fetch(`${service?.managementUrl}/ready`);
    return `${response.status} ${await response.text()}`;
  };
  expect(await ready()).toMatch(/^200 .*there is no feed of changes/s);
  const [worker] = database.ports.workers.map(listenerAt);
  const resume = worker?.freeze();
  try {
    expect(await ready()).toMatch(/^200 .*not every node of Citus responds/s);
  } finally {
    resume?.();
  }
  await eventually(async () => !(await ready()).includes('not every node'));
  await worker?.kill();
  expect(await ready()).toMatch(/^200 .*not every node of Citus responds/s);
  worker?.start();
  await eventually(async () => !(await ready()).includes('not every node'));
});
