import { expect, test } from '@jest/globals';
import { endpointName } from '../../src/config/webhook-endpoints.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { projectFile, startNode, startService, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';
import { hasAll, startReceiver, UNHEARD, webhooksTo } from '../support/webhooks/webhook-receiver.ts';
import { create, sendTo, stopped } from '../support/webhooks/webhook-service.ts';

/* Webhooks of the service as a process. */

const receiver = forEachTest(startReceiver);

test('several instances send each plant once, with a User-Agent, and leave the rest to others when they stop', async () => {
  const agents = new Set<string | undefined>();
  receiver.trouble(({ headers }) => {
    agents.add(headers['user-agent']);
    return false;
  });
  const { url: DATABASE_URL, query } = await migratedDatabase();
  const environment = { DATABASE_URL, ACCESS_TOKENS: TOKEN, ...webhooksTo(receiver.url) };
  const start = async () => startService(await temporaryFolder(), environment);
  const services = [await start(), await start()];
  const ids = Array.from({ length: 300 }, (_, n) => BigInt(n));
  const sends = services.map(sendTo);
  const statuses = await Promise.all(ids.map((id) => sends[Number(id % 2n)]?.(...create(id))));
  expect(new Set(statuses)).toEqual(new Set([200]));
  await eventually(() => hasAll(receiver, ids));
  expect([receiver.received.length, receiver.forged()]).toEqual([300, 0]);
  expect([...agents]).toEqual([expect.stringMatching(/^plant-store\/\d+\.\d+\.\d+$/)]);
  for (const service of services) await stopped(service);
  // A lease that is not released would have to expire first.
  expect(await query('select holder from webhooks')).toEqual([{ holder: null }]);
});

test('reads do not wait for the place of an endpoint, which a read-only server cannot give', async () => {
  const database = await migratedDatabase();
  await database.query(`insert into plants values (1, 'plant 1')`);
  const [{ name } = {}] = await database.query('select current_database() as name');
  await database.query(`alter database "${name}" set default_transaction_read_only = on`);
  const environment = { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN, STORE_TIMEOUT: '1s', ...UNHEARD };
  const service = await startService(await temporaryFolder(), environment);
  const send = sendTo(service);
  expect(await send('GET', '/plants/1')).toBe(200);
  expect(await send('GET', '/plants')).toBe(200);
  expect(await send(...create(2n))).toBe(503);
  await stopped(service);
});

test('an endpoint whose position is one of another table is not resumed, and the command says why', async () => {
  const { url: DATABASE_URL, query } = await migratedDatabase();
  await query(`insert into webhooks (endpoint, plants, changed, id, reason)
    values ('${endpointName(receiver.url)}', 'change_feed'::regclass, 0, 0, 'it responded with 500')`);
  const args = [projectFile('src/webhooks.ts'), 'resume', receiver.url];
  const outcome = await startNode(args, await temporaryFolder(), { DATABASE_URL }).outcome();
  const stderr = expect.stringContaining('the table plants is another one than that of its position');
  expect(outcome).toMatchObject({ code: 1, stderr });
});
