import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { requestMetrics } from '../../../src/adapters/metrics/request-metrics.ts';
import { samplesIn } from '../../support/monitoring/prometheus.ts';

test('counts each request once, however many have ended, and defects from 0 on', async () => {
  const registry = new Registry();
  const { requestEnded, beginDefects } = requestMetrics(registry);
  beginDefects(['createPlant']);
  const sampleOf = async (wanted: string) =>
    samplesIn(await registry.metrics()).find(({ name, labels }) => wanted === [name, ...Object.values(labels)].join())
      ?.value;
  for (let count = 1; count <= 600; count++) requestEnded('createPlant', 200, undefined, count <= 10 ? 3 : 20_000);
  requestEnded('createPlant');
  // A list that broke off after its head, and a request that the parser refused.
  requestEnded('listPlants', 200, 50_300, 0);
  requestEnded(undefined, 400, 40_001);
  requestEnded('createPlant', 500, 50_000, undefined);
  for (const _ of ['a scrape', 'the next one']) {
    expect(await sampleOf('http_requests_total,createPlant,200,')).toBe(600);
    expect(await sampleOf('http_requests_total,createPlant,none,')).toBe(1);
    expect(await sampleOf('http_requests_total,listPlants,200,50300')).toBe(1);
    expect(await sampleOf('http_requests_total,,400,40001')).toBe(1);
    expect(await sampleOf('http_requests_total,createPlant,500,50000')).toBe(1);
    expect(await sampleOf('http_requests_total,createPlant,200,50000')).toBe(0);
    expect(await sampleOf('http_request_duration_seconds_bucket,0.005,createPlant,200')).toBe(10);
    expect(await sampleOf('http_request_duration_seconds_count,createPlant,200')).toBe(600);
    expect(await sampleOf('http_request_duration_seconds_count,,400')).toBeUndefined();
  }
});
