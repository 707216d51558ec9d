import { expect, test } from '@jest/globals';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { workersMetrics } from '../../../src/adapters/prometheus/workers-metrics.ts';

/** The page of a process that has counted so much. */
function page(count: number): Promise<string> {
  const registers = [new Registry()];
  new Counter({ name: 'requests_total', help: 'Requests', labelNames: ['path'], registers }).inc(
    { path: '} 1' },
    count,
  );
  new Gauge({ name: 'lag', help: 'Lines:\n\ntwo', registers }).set(Number.NaN);
  new Histogram({ name: 'plants', help: 'Plants', buckets: [1], registers }).observe(count);
  new Counter({ name: 'unused', help: 'None yet', labelNames: ['label'], registers });
  return registers[0]?.metrics() ?? Promise.reject();
}

test('says whose each sample is, and keeps the samples of a metric together', async () => {
  const pages = new Map([
    ['1', await page(1)],
    ['2', await page(2)],
  ]);
  expect(workersMetrics(pages)).toBe(`# HELP requests_total Requests
# TYPE requests_total counter
requests_total{worker="1",path="} 1"} 1
requests_total{worker="2",path="} 1"} 2

# HELP lag Lines:\\n\\ntwo
# TYPE lag gauge
lag{worker="1"} Nan
lag{worker="2"} Nan

# HELP plants Plants
# TYPE plants histogram
plants_bucket{worker="1",le="1"} 1
plants_bucket{worker="1",le="+Inf"} 1
plants_sum{worker="1"} 1
plants_count{worker="1"} 1
plants_bucket{worker="2",le="1"} 0
plants_bucket{worker="2",le="+Inf"} 1
plants_sum{worker="2"} 2
plants_count{worker="2"} 1

# HELP unused None yet
# TYPE unused counter
`);
});

test('is empty while no process has any', () => {
  expect(workersMetrics(new Map()).trim()).toBe('');
});
