import { expect, test } from '@jest/globals';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { joinedMetrics } from '../../../src/adapters/prometheus/joined-metrics.ts';
import { requestMetrics } from '../../../src/adapters/prometheus/request-metrics.ts';

/** The metrics of a process that has counted so much. */
function metrics(count: number) {
  const registry = new Registry();
  const registers = [registry];
  new Counter({ name: 'creates_total', help: 'Creates', labelNames: ['path'], registers }).inc({ path: '} 1' }, count);
  new Gauge({ name: 'lag', help: 'Lines:\n\ntwo', registers }).set(Number.NaN);
  new Gauge({ name: 'start', help: 'Start', aggregator: 'omit', registers }).set(count);
  new Histogram({ name: 'plants', help: 'Plants', buckets: [1], registers }).observe(count);
  new Counter({ name: 'unused', help: 'None yet', labelNames: ['label'], registers });
  requestMetrics(registry).requestEnded('createPlant', 200, undefined, undefined);
  return registry.getMetricsAsJSON();
}

test('says whose each sample is, and keeps the samples of a metric together', async () => {
  const text = await joinedMetrics([await metrics(1), [], await metrics(2)]);
  expect(text).toBe(`# HELP creates_total Creates
# TYPE creates_total counter
creates_total{worker="1",path="} 1"} 1
creates_total{worker="3",path="} 1"} 2

# HELP lag Lines:\\n\\ntwo
# TYPE lag gauge
lag{worker="1"} Nan
lag{worker="3"} Nan

# HELP start Start
# TYPE start gauge
start{worker="1"} 1
start{worker="3"} 2

# HELP plants Plants
# TYPE plants histogram
plants_bucket{worker="1",le="1"} 1
plants_bucket{worker="1",le="+Inf"} 1
plants_sum{worker="1"} 1
plants_count{worker="1"} 1
plants_bucket{worker="3",le="1"} 0
plants_bucket{worker="3",le="+Inf"} 1
plants_sum{worker="3"} 2
plants_count{worker="3"} 1

# HELP unused None yet
# TYPE unused counter

# HELP http_requests_total Requests by operation, status (none: the client disconnected before the response) and error number
# TYPE http_requests_total counter
http_requests_total{worker="1",operation="createPlant",status="200",error=""} 1
http_requests_total{worker="3",operation="createPlant",status="200",error=""} 1

# HELP http_request_duration_seconds From the end of the headers to the end of the response, excluding requests refused by the HTTP parser
# TYPE http_request_duration_seconds histogram
`);
});

test('is empty while no process has any', async () => {
  expect((await joinedMetrics([[]])).trim()).toBe('');
});
