import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { eventually } from './support/eventually.ts';
import { mistakesIn, queries, type Sample, samplesIn, sampleValue } from './support/prometheus.ts';
import { rawRequest } from './support/raw-request.ts';
import { type Service, startService, temporaryFolder } from './support/service-process.ts';
import { migratedDatabase, type TestDatabase } from './support/test-database.ts';

/* What a real service tells Prometheus, and whether the dashboard and the alerts ask for what it tells. */

const TOKEN = 'token-for-the-tests';

let database: TestDatabase;
beforeAll(async () => {
  database = await migratedDatabase();
});
afterAll(() => database.drop());

const start = async (environment: Record<string, string> = {}) =>
  startService(await temporaryFolder(), { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN, ...environment });

function post({ apiUrl }: Service, body: string, token = TOKEN): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  return fetch(`${apiUrl}/plants`, { method: 'POST', headers, body });
}

async function metricsText({ managementUrl }: Service): Promise<string> {
  const answer = await fetch(`${managementUrl}/metrics`);
  expect(answer.headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return answer.text();
}

/** The metrics once so many requests have been counted, which is a moment after their answers. */
async function metricsAfter(service: Service, requests: number): Promise<Sample[]> {
  for (;;) {
    const samples = samplesIn(await metricsText(service));
    const counts = samples.filter(({ name }) => name === 'http_requests_total').map(({ value }) => value);
    if (counts.reduce((sum, value) => sum + value, 0) >= requests) return samples;
  }
}

/** One request at a time, which may wait as long as a busy machine takes. */
const ONE_AT_A_TIME = { MAX_REQUESTS: '1', STATEMENT_TIMEOUT: '20s', STORE_TIMEOUT: '60s' };

/** One of everything that is counted: five requests. */
async function everyKindOfRequest(service: Service): Promise<void> {
  const other = new Client({ connectionString: database.directUrl });
  await other.connect();
  await other.query("begin; delete from plants; insert into plants values (1, 'not committed yet')");
  const created = post(service, '{"id":1,"name":"Monstera"}');
  await eventually(async () => (await database.query(WAITING_FOR_A_LOCK)).length > 0);
  expect((await post(service, '{"id":1,"name":"refused"}')).status).toBe(503);
  await other.query('delete from plants where id = 1; commit');
  await other.end();
  expect((await created).status).toBe(200);
  expect((await post(service, '{"id":1,"name":"another"}')).status).toBe(400);
  await metricsAfter(service, 3);

  const { hostname, port } = new URL(service.apiUrl);
  const leaving = connect(Number(port), hostname);
  leaving.write(`POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nExpect: 100-continue\r\n`);
  leaving.write('Content-Type: application/json\r\nContent-Length: 100\r\n\r\n');
  await once(leaving, 'data');
  leaving.resetAndDestroy();
  await metricsAfter(service, 4);
  expect(await rawRequest(service.apiUrl, 'GARBAGE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
}

const WAITING_FOR_A_LOCK = `select 1 from pg_stat_activity
  where wait_event_type = 'Lock' and application_name = 'plant-store' and datname = current_database()`;

test('counts requests, their time, batches, refusals and connections', async () => {
  const service = await start({ ...ONE_AT_A_TIME, POOL_SIZE: '7' });
  await everyKindOfRequest(service);
  const samples = await metricsAfter(service, 5);
  const requests = samples.filter(({ name }) => name === 'http_requests_total');
  expect(requests.map(({ labels, value }) => [labels.status, labels.error, value]).toSorted()).toEqual([
    ['200', '', 1],
    ['400', '40001', 1],
    ['400', '40009', 1],
    ['503', '50300', 1],
    ['none', '', 1],
  ]);

  const time = (part: string, labels = {}) =>
    sampleValue(samples, `http_request_duration_seconds_${part}`, { status: '200', ...labels });
  expect(time('count')).toBe(1);
  expect(time('sum')).toBeGreaterThan(0);
  expect(time('sum')).toBeLessThan(20);
  expect(time('bucket', { le: '+Inf' })).toBe(1);
  // The one that was never read took no time that could be told.
  expect(sampleValue(samples, 'http_request_duration_seconds_count', { status: '400' })).toBe(1);

  expect(sampleValue(samples, 'plant_store_overload_refusals_total')).toBe(1);
  expect(sampleValue(samples, 'plant_store_batch_plants_count')).toBe(2);
  expect(sampleValue(samples, 'plant_store_batch_plants_sum')).toBe(2);
  expect(sampleValue(samples, 'plant_store_waiting_plants')).toBe(0);
  const connections = samples.filter(({ name }) => name === 'plant_store_pool_connections');
  expect(connections.map(({ labels }) => labels.state)).toEqual(['busy', 'idle', 'unused']);
  expect(connections.reduce((sum, { value }) => sum + value, 0)).toBe(7);
  expect(sampleValue(samples, 'plant_store_pool_connections', { state: 'unused' })).toBeLessThan(7);
  expect(sampleValue(samples, 'process_resident_memory_bytes')).toBeGreaterThan(10 * 1024 ** 2);
});

test('makes no series of what strangers send', async () => {
  const service = await start();
  for (const method of ['GET', 'PUT', 'DELETE']) {
    for (const path of ['a', 'b', 'c']) {
      const headers = { 'X-Request-Id': `${method}-${path}` };
      expect((await fetch(`${service.apiUrl}/${path}?${path}=1`, { method, headers })).status).toBe(404);
    }
  }
  const samples = await metricsAfter(service, 9);
  expect(sampleValue(samples, 'http_requests_total', { status: '404', error: '40400' })).toBe(9);
  const ours = samples.filter(({ name }) => /^(http|plant_store)_/.test(name));
  expect(new Set(ours.flatMap(({ labels }) => Object.keys(labels)))).toEqual(
    new Set(['operation', 'status', 'error', 'le', 'state']),
  );
  // A counter; the 13 buckets of a histogram and +Inf, its sum and its count.
  expect(samples.filter(({ labels }) => labels.status === '404')).toHaveLength(17);
});

test('tells no token, be it good or wrong', async () => {
  const service = await start();
  const wrong = 'another-token-for-the-tests';
  expect((await post(service, '{"id":2,"name":"Monstera"}')).status).toBe(200);
  expect((await post(service, '{"id":2,"name":"Monstera"}', wrong)).status).toBe(401);
  await metricsAfter(service, 2);
  const text = await metricsText(service);
  for (const token of [TOKEN, wrong]) expect(text).not.toContain(token);
});

test('tells everything that the dashboard and the alerts ask for', async () => {
  const service = await start(ONE_AT_A_TIME);
  await everyKindOfRequest(service);
  // Prometheus adds this one by itself.
  const up = { name: 'up', labels: { job: 'plant-store' }, value: 1 };
  const samples = [...(await metricsAfter(service, 5)), up];
  const all = await queries();
  expect(all.length).toBeGreaterThan(10);
  for (const [where, query] of all) expect([where, mistakesIn(query, samples)]).toEqual([where, []]);
});

test.each([
  ['sum(rate(http_requests_total[1m])', 'syntax at 33'],
  ['http_request_total', 'unknown metric http_request_total'],
  ['sum by (path) (http_requests_total)', 'unknown label path'],
  ['http_requests_total{code="200"}', 'unknown label code'],
])('a query like %s would be found out', (query, mistake) => {
  const samples = [{ name: 'http_requests_total', labels: { status: '200' }, value: 1 }];
  expect(mistakesIn(query, samples)).toEqual([mistake]);
});
