import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { post as postBody, TOKEN } from '../../support/api-server.ts';
import { openTransaction } from '../../support/disturbances.ts';
import { tableRows } from '../../support/documents/markdown.ts';
import { eventually } from '../../support/eventually.ts';
import { forAllTests } from '../../support/lifetimes.ts';
import { alertRules, queries, type Sample, samplesIn, sampleValue } from '../../support/monitoring/prometheus.ts';
import { beginUpload, rawRequest } from '../../support/raw-request.ts';
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts';
import { projectFile, type Service, startWith } from '../../support/service-process.ts';
import { migratedDatabase } from '../../support/test-database.ts';
import { UNHEARD } from '../../support/webhooks/webhook-receiver.ts';

/* What a real service reports to Prometheus, and whether the dashboard and the alerts ask for what it reports. */

const database = forAllTests(migratedDatabase);

const start = async (environment: Record<string, string> = {}) =>
  startWith({ DATABASE_URL: database.url, ...environment });

const post = ({ apiUrl }: Service, body: string, token = TOKEN) =>
  postBody(apiUrl, body, { Authorization: `Bearer ${token}` });

async function metricsText({ managementUrl }: Service): Promise<string> {
  const answer = await fetch(`${managementUrl}/metrics`);
  expect(answer.headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return answer.text();
}

/** The metrics once this number of requests has been counted, which is a moment after their responses. */
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
  const taken = "delete from plants; insert into plants values (1, 'not committed yet')";
  const other = await openTransaction(database.directUrl, taken);
  const created = post(service, '{"id":1,"name":"Monstera"}');
  await eventually(async () => (await database.query(WAITING_FOR_A_LOCK)).length > 0);
  expect((await post(service, '{"id":1,"name":"refused"}')).status).toBe(503);
  await other.query('delete from plants where id = 1; commit');
  expect((await created).status).toBe(200);
  expect((await post(service, '{"id":1,"name":"another"}')).status).toBe(400);
  await metricsAfter(service, 3);

  (await beginUpload(service.apiUrl)).socket.resetAndDestroy();
  await metricsAfter(service, 4);
  expect(await rawRequest(service.apiUrl, 'GARBAGE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
}

const WAITING_FOR_A_LOCK = `select 1 from pg_stat_activity
  where wait_event_type = 'Lock' and application_name = 'plant-store' and datname = current_database()`;

const shared = forAllTests(start);

test('counts lists while they are streamed, and requests for changes while they wait', async () => {
  const filled = "insert into plants (id, name) select id, repeat('x', 2000) from generate_series(1000, 20000) as id";
  await database.query(filled);
  const begin = (path: string, signal: AbortSignal) =>
    fetch(`${shared.apiUrl}${path}`, { headers: { Authorization: `Bearer ${TOKEN}` }, signal });
  const inProgress = async () => {
    const samples = samplesIn(await metricsText(shared));
    return ['streams', 'followers'].map((name) => sampleValue(samples, `plant_store_${name}`));
  };
  const client = new AbortController();
  expect(await inProgress()).toEqual([0, 0]);
  const { next } = (await (await begin('/changes?after=now', client.signal)).json()) as { next: string };
  const follower = begin(`/changes?wait=30&after=${next}`, client.signal);
  follower.catch(() => {});
  // The response of which nothing is read.
  await begin('/plants', client.signal);
  await eventually(async () => `${await inProgress()}` === '1,1');
  client.abort();
  await eventually(async () => `${await inProgress()}` === '0,0');
});

test('responds within a second beside a silent database, as /ready does', async () => {
  const network = await startTcpProxy(database.url);
  const service = await start({ DATABASE_URL: network.url, STORE_TIMEOUT: '20s', ...UNHEARD });
  const known = async () => samplesIn(await metricsText(service)).map(({ name, value }) => [name, value] as const);
  // On a busy machine, the check may once take longer than a scrape waits for it.
  await eventually(async () => new Map(await known()).get('plant_store_ready') === 1);
  // Until its row is written, an endpoint counts as one that gets nothing.
  await eventually(async () => new Map(await known()).get('plant_store_webhook_parked') === 0);
  const before = new Map(await known());
  expect(before.get('plant_store_changes_lag_seconds')).toEqual(expect.any(Number));
  // Nothing is sent to an endpoint whose row is gone.
  await database.query('delete from webhooks');
  await eventually(async () => new Map(await known()).get('plant_store_webhook_parked') === 1);
  network.swallow();
  let took = Number.POSITIVE_INFINITY;
  // Of five times, since this machine may be busy.
  for (let round = 1; round <= 5 && took > 1_000; round++) {
    const start = performance.now();
    const [samples, ready] = await Promise.all([known(), fetch(`${service.managementUrl}/ready`)]);
    took = performance.now() - start;
    expect(ready.status).toBe(503);
    const after = new Map(samples);
    expect(after.get('plant_store_changes_lag_seconds')).toBeNaN();
    expect(after.has('plant_store_webhook_parked')).toBe(false);
  }
  expect(took).toBeLessThan(1_000);
});

test('begins the defects of every operation at 0, so that the first one is an increase', async () => {
  const defects = samplesIn(await metricsText(shared)).filter(({ labels }) => labels.error === '50000');
  const { paths } = (await (await fetch(`${shared.apiUrl}/openapi.json`)).json()) as { paths: object };
  const operations = Object.values(paths).flatMap((path) => Object.values(path as object));
  const names = operations.map(({ operationId }) => operationId).filter((name) => name !== undefined);
  expect(names.length).toBeGreaterThan(5);
  for (const operation of [...names, '']) {
    const own = defects.filter(({ labels }) => labels.operation === operation);
    expect(own.map(({ labels, value }) => [labels.status, value])).toEqual([
      ['500', 0],
      ['200', 0],
    ]);
  }
});

test('makes no series of what unauthenticated clients send, and shows no token', async () => {
  const wrong = 'another-token-for-the-tests';
  expect((await post(shared, '{"id":2,"name":"Monstera"}')).status).toBe(200);
  expect((await post(shared, '{"id":2,"name":"Monstera"}', wrong)).status).toBe(401);
  // More than are counted at once.
  for (let n = 0; n < 300; n++) {
    const headers = { 'X-Request-Id': `${n}` };
    const method = ['GET', 'PUT', 'DELETE'][n % 3] ?? '';
    expect((await fetch(`${shared.apiUrl}/${n}?${n}=1`, { method, headers })).status).toBe(404);
  }
  let samples: Sample[] = [];
  await eventually(async () => {
    samples = samplesIn(await metricsText(shared));
    return sampleValue(samples, 'http_requests_total', { status: '404', error: '40400' }) === 300;
  });
  const ours = samples.filter(({ name }) => /^(http|plant_store)_/.test(name));
  expect(new Set(ours.flatMap(({ labels }) => Object.keys(labels)))).toEqual(
    new Set(['operation', 'status', 'error', 'le', 'state']),
  );
  // A counter; the 13 buckets of a histogram and +Inf, its sum and its count.
  expect(samples.filter(({ labels }) => labels.status === '404')).toHaveLength(17);
  const text = await metricsText(shared);
  for (const token of [TOKEN, wrong]) expect(text).not.toContain(token);
});

/**
 * What would make this query find nothing, or count other services of the same Prometheus: metrics and labels that there are
 * not, or no job. Its syntax is read in deploy/prometheus.full.
 */
function mistakesIn(query: string, samples: readonly Sample[]): string[] {
  const metrics = [...query.matchAll(/(\w+)\{job="plant-store"/g)].map(([, name = '']) => name);
  const labels = [...query.matchAll(/(\w+)[!=]~?"|by \((\w+)\)/g)].map(
    ([, label, grouping]) => label ?? grouping ?? '',
  );
  const known = samples.filter(({ name }) => metrics.includes(name));
  const withoutJob = new Set(
    samples.map(({ name }) => name).filter((name) => new RegExp(`\\b${name}\\b(?!\\{job=)`).test(query)),
  );
  return [
    ...(metrics.length === 0 ? ['no metric'] : []),
    ...[...withoutJob].map((name) => `${name} of any job`),
    ...metrics.filter((metric) => !known.some(({ name }) => name === metric)),
    // Prometheus adds the job.
    ...labels.filter((label) => label !== 'job' && !known.some((sample) => label in sample.labels)),
  ];
}

test('reports all that the dashboard and alerts ask for, and each alert is documented', async () => {
  const service = await start({ ...ONE_AT_A_TIME, ...UNHEARD, POOL_SIZE: '7' });
  const begun = performance.now();
  await everyKindOfRequest(service);
  const samples = await metricsAfter(service, 5);
  const requests = samples.filter(({ name, value }) => name === 'http_requests_total' && value > 0);
  expect(requests.map(({ labels, value }) => [labels.status, labels.error, value]).toSorted()).toEqual([
    ['200', '', 1],
    ['400', '40001', 1],
    ['400', '40009', 1],
    ['503', '50300', 1],
    ['none', '', 1],
  ]);

  const times = (status: string) => sampleValue(samples, 'http_request_duration_seconds_count', { status });
  // The one that was never read took no time that could be measured.
  expect([times('200'), times('400')]).toEqual([1, 1]);
  const seconds = sampleValue(samples, 'http_request_duration_seconds_sum', { status: '200' });
  expect(seconds).toBeLessThan((performance.now() - begun) / 1_000);

  expect(sampleValue(samples, 'plant_store_batch_plants_count')).toBe(1);
  expect(sampleValue(samples, 'plant_store_batch_plants_sum')).toBe(1);
  for (const name of ['streams', 'followers']) expect(sampleValue(samples, `plant_store_${name}`)).toBe(0);
  const connections = samples.filter(({ name }) => name === 'plant_store_pool_connections');
  expect(connections.map(({ labels }) => labels.state)).toEqual(['busy', 'idle', 'unused']);
  expect(connections.reduce((sum, { value }) => sum + value, 0)).toBe(7);
  expect(sampleValue(samples, 'plant_store_pool_connections', { state: 'unused' })).toBeLessThan(7);
  expect(sampleValue(samples, 'process_resident_memory_bytes')).toBeGreaterThan(10 * 1024 ** 2);

  const all = await queries();
  expect(all.length).toBeGreaterThan(10);
  // Prometheus adds this one by itself.
  const up = { name: 'up', labels: {}, value: 1 };
  for (const [where, query] of all) expect([where, mistakesIn(query, [...samples, up])]).toEqual([where, []]);

  const document = await readFile(projectFile('docs/operations.md'), 'utf8');
  const listed = tableRows(document, 'alert').map(([name]) => name);
  expect(listed).toEqual((await alertRules()).map(({ alert }) => alert));
});
