import { expect, test } from '@jest/globals';
import { Counter, Histogram, Registry } from 'prom-client';
import { requestMetrics } from '../../../src/adapters/metrics/request-metrics.ts';
import { samplesIn } from '../../support/monitoring/prometheus.ts';

type Ended = Parameters<ReturnType<typeof requestMetrics>['requestEnded']>;

const ended: readonly Ended[] = [
  ['createPlant', 200, undefined, 1],
  ['createPlant', 200, undefined, 10_000],
  ['createPlant', 200, undefined, 10_001],
  ['createPlant', 503, 50300, 3],
  ['createPlant', undefined, undefined, 2],
  // A list that broke off after its head.
  ['listPlants', 200, 50300, 0],
  ['listPlants', 200, undefined, 7],
  [undefined, 404, 40400, 0.5],
  // Refused by the parser.
  [undefined, 400, 40001, undefined],
];

/** What prom-client reports of the same requests. */
async function expected(all: readonly Ended[]): Promise<string> {
  const registers = [new Registry()];
  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Requests by operation, status (none: the client disconnected before the response) and error number',
    labelNames: ['operation', 'status', 'error'],
    registers,
  });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'From the end of the headers to the end of the response, excluding requests refused by the HTTP parser',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  for (const [operation = '', status = 'none', error = '', milliseconds] of all) {
    requests.inc({ operation, status, error });
    if (milliseconds !== undefined) durations.observe({ operation, status }, milliseconds / 1_000);
  }
  return registers[0]?.metrics() ?? '';
}

test.each([[[]], [ended]])('reports of the requests %j what prom-client would report', async (requests) => {
  const registry = new Registry();
  const { requestEnded, durations } = requestMetrics(registry);
  for (const one of requests) requestEnded(...one);
  expect(`${await registry.metrics()}${durations()}`).toBe(await expected(requests));
});

test('counts the first defect of an operation where it has begun at 0', async () => {
  const registry = new Registry();
  const { requestEnded, beginDefects } = requestMetrics(registry);
  beginDefects(['createPlant']);
  requestEnded('createPlant', 500, 50_000, undefined);
  const [first, second] = samplesIn(await registry.metrics());
  expect(first).toMatchObject({ labels: { operation: 'createPlant', status: '500' }, value: 1 });
  expect(second).toMatchObject({ labels: { operation: 'createPlant', status: '200' }, value: 0 });
});
