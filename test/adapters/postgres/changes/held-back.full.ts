import { expect, test } from '@jest/globals';
import { get, post, TOKEN } from '../../../support/api-server.ts';
import { openTransaction } from '../../../support/disturbances.ts';
import { eventually } from '../../../support/eventually.ts';
import { forEachTest } from '../../../support/lifetimes.ts';
import { samplesIn, sampleValue } from '../../../support/monitoring/prometheus.ts';
import { ownPostgres } from '../../../support/servers/own-postgres.ts';
import { projectFile, startNode, startService, temporaryFolder } from '../../../support/service-process.ts';
import { migratedDatabase } from '../../../support/test-database.ts';
import { startReceiver, webhooksTo } from '../../../support/webhooks/webhook-receiver.ts';

const receiver = forEachTest(startReceiver);

const WORDS = /an open transaction has delayed the feed of changes for (\d+) s/;

test.each([
  ['who may see since when, even at its first scrape', 'grant pg_read_all_stats to plants_service'],
  ['who may not', 'select'],
])('all say for how long a transaction of another database holds back the feed: %s', async (_, grant) => {
  const server = await ownPostgres();
  const { url, query } = await migratedDatabase(server.url);
  await query(`create role plants_service login;
    grant select, insert, update on plants, webhooks to plants_service;
    grant select on kysely_migration, change_feed to plants_service; grant update on change_feed to plants_service; ${grant}`);
  const isExact = grant.startsWith('grant');
  const DATABASE_URL = Object.assign(new URL(url), { username: 'plants_service' }).href;
  const environment = { DATABASE_URL, ACCESS_TOKENS: TOKEN };
  const folder = await temporaryFolder();
  const open = await openTransaction(server.url, 'select pg_current_xact_id(), pg_sleep(6)');

  const service = await startService(folder, { ...environment, ...webhooksTo(receiver.url) });
  expect((await post(service.apiUrl, '{"id":1,"name":"held back"}')).status).toBe(200);
  const page = async () => (await get(service.apiUrl, '/changes')).json();
  const text = async (path: string) => (await fetch(service.managementUrl + path)).text();
  const lag = async () => sampleValue(samplesIn(await text('/metrics')), 'plant_store_changes_lag_seconds');
  if (isExact) expect(await lag()).toBeGreaterThan(6);
  await eventually(async () => (await lag()) > 6);
  expect(await page()).toMatchObject({ changes: [], atEnd: true, heldBackSeconds: expect.any(Number) });
  expect(Number(WORDS.exec(await text('/ready'))?.[1])).toBeGreaterThanOrEqual(5);
  const status = await startNode([projectFile('src/webhooks.ts'), 'status'], folder, environment).outcome();
  expect(Number(WORDS.exec(status.stdout)?.[1])).toBeGreaterThanOrEqual(5);

  await open.query('commit');
  await eventually(async () => (await lag()) === 0);
  expect(await page()).not.toHaveProperty('heldBackSeconds');
  expect(await text('/ready')).toContain('"database":"ok"');
});
