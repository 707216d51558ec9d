import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { webhookMetrics } from '../../../src/adapters/prometheus/webhook-metrics.ts';
import type { EndpointState } from '../../../src/application/webhooks/ports.ts';
import { samplesIn, sampleValue } from '../../support/monitoring/prometheus.ts';

test('nothing waits for an endpoint that has got all, also once the database was set back', async () => {
  const registry = new Registry();
  const at = (changed: bigint) => ({ changed, id: 0n });
  let [position, end] = [at(1n), at(2n)];
  const state = (): EndpointState => ({ endpoint: 'e', position, end, backlog: 1, isParked: false });
  webhookMetrics(registry, ['e'], async () => [state()]);
  const lag = async () => sampleValue(samplesIn(await registry.metrics()), 'plant_store_webhook_lag_seconds');
  expect(await lag()).toBeGreaterThanOrEqual(0);
  expect(await lag()).toBeGreaterThan(0);
  position = end = at(1n);
  expect(await lag()).toBe(0);
});
