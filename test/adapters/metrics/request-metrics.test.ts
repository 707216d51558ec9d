import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { requestMetrics } from '../../../src/adapters/metrics/request-metrics.ts';
import { samplesIn } from '../../support/monitoring/prometheus.ts';

test('counts each request once, however many have ended since the last scrape', async () => {
  const registry = new Registry();
  const { requestEnded } = requestMetrics(registry);
  const sampleOf = async (wanted: string) =>
    samplesIn(await registry.metrics()).find(({ name, labels }) => wanted === [name, ...Object.values(labels)].join())
      ?.value;
  for (let count = 1; count <= 600; count++) requestEnded('createPlant', 200, undefined, count <= 10 ? 3 : 20_000);
  requestEnded('createPlant');
  // A list that broke off after its head, and a request that the parser refused.
  requestEnded('listPlants', 200, 50_300, 0);
  requestEnded(undefined, 400, 40_001);
  for (const _ of ['a scrape', 'the next one']) {
    expect(await sampleOf('http_requests_total,createPlant,200,')).toBe(600);
    expect(await sampleOf('http_requests_total,createPlant,none,')).toBe(1);
    expect(await sampleOf('http_requests_total,listPlants,200,50300')).toBe(1);
    expect(await sampleOf('http_requests_total,,400,40001')).toBe(1);
    expect(await sampleOf('http_request_duration_seconds_bucket,0.005,createPlant,200')).toBe(10);
    expect(await sampleOf('http_request_duration_seconds_count,createPlant,200')).toBe(600);
    expect(await sampleOf('http_request_duration_seconds_count,,400')).toBeUndefined();
  }
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
