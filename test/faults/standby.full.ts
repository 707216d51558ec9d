import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, jest, test } from '@jest/globals';
import { execute } from '../../tooling/execute.ts';
import { type ApiClient, apiClient } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import {
  isSynchronous,
  type SynchronousPair,
  shutDown,
  startSynchronousPair,
} from '../support/servers/own-postgres.ts';
import { startTcpProxy, type TcpProxy } from '../support/servers/tcp-proxy.ts';
import { startWith } from '../support/service-process.ts';
import { storedPlantsAt } from '../support/test-database.ts';

/* 200 means that the synchronous standby has the plant, too: losing the primary then loses nothing. */

const POOL_SIZE = 4;
/** Seconds that the standby stays away under load. */
const ABSENCE = 10;

jest.setTimeout(600_000);

let pair: SynchronousPair;
let network: TcpProxy;
let client: ApiClient;
beforeEach(async () => {
  pair = await startSynchronousPair();
  network = await startTcpProxy(pair.primary.url);
  const { apiUrl } = await startWith({
    DATABASE_URL: network.url,
    POOL_SIZE: `${POOL_SIZE}`,
    STATEMENT_TIMEOUT: '300ms',
    STORE_TIMEOUT: '2s',
  });
  client = apiClient(apiUrl);
});

const create = async (id: number, name = `plant ${id}`) =>
  (await client.send('POST', '/plants', { body: `{"id":${id},"name":"${name}"}` })).status;
/** Until it is; abandoned statements count for a minute. */
const created = (id: number) => eventually(async () => (await create(id)) === 200, 120_000);

async function onStandby(): Promise<bigint[]> {
  const plants = await storedPlantsAt(pair.standby.url);
  return plants.map(({ id }) => id);
}

const SYNC_WAITS = "pg_stat_activity where wait_event = 'SyncRep'";

async function crashPrimary(): Promise<void> {
  await shutDown(pair.primary, 'SIGKILL');
  pair.primary = await pair.primary.restart();
}

test.each<[string, () => Promise<unknown>]>([
  ['a crash of the primary', crashPrimary],
  ['pg_cancel_backend', () => execute(pair.primary.url, `select pg_cancel_backend(pid) from ${SYNC_WAITS}`)],
  ['pg_terminate_backend', () => execute(pair.primary.url, `select pg_terminate_backend(pid) from ${SYNC_WAITS}`)],
])('confirms nothing that %s made visible, until the standby has it', async (_what, end) => {
  const remove = async () => (await client.send('DELETE', '/plants/2')).status;
  const requests = () => Promise.all([create(1), create(1, 'another'), remove(), create(2)]);
  const visible = () => execute(pair.primary.url, 'select id from plants where deleted is null');
  await created(2);
  await shutDown(pair.standby);
  const hidden = Promise.all([create(1), remove()]);
  await eventually(async () => (await execute(pair.primary.url, `select from ${SYNC_WAITS}`)).length > 1);
  expect(await visible()).toEqual([{ id: '2' }]);
  await eventually(async () => {
    await end();
    // The deletion waits for the standby before it changes anything.
    return (await visible()).length === 2;
  });
  expect(await hidden).toEqual([503, 503]);
  expect(await requests()).toEqual([503, 503, 503, 503]);
  expect(await requests()).toEqual([503, 503, 503, 503]);
  pair.standby = await pair.standby.restart();
  await created(1);
  await eventually(async () => (await remove()) === 204);
  await eventually(async () => (await requests()).join() === '200,400,204,400');
  expect(await onStandby()).toEqual([1n]);
});

test(`leaves room for an administrator while the standby is away for ${ABSENCE} s`, async () => {
  await shutDown(pair.standby);
  const end = performance.now() + ABSENCE * 1_000;
  let [next, most] = [0, 0];
  // A busy machine takes longer until connections are replaced.
  const isAway = () => performance.now() < end || most <= POOL_SIZE;
  const statuses = new Set<number>();
  const clients = Promise.all(
    Array.from({ length: 64 }, async () => {
      while (isAway()) statuses.add(await create(++next));
    }),
  );
  while (isAway()) {
    const backends = "select 1 from pg_stat_activity where application_name = 'plant-store'";
    most = Math.max(most, (await execute(pair.primary.url, backends)).length);
    await delay(100);
  }
  await clients;
  expect([...statuses]).toEqual([503]);
  expect(most).toBeLessThanOrEqual(2 * POOL_SIZE);
  pair.standby = await pair.standby.restart();
  await isSynchronous(pair.primary);
  await created(1);
  expect(await onStandby()).toContain(1n);
});
