import { AggregatorRegistry } from 'prom-client';
import type { MetricValues } from './metrics.ts';

/**
 * Joins the metrics of several processes, in Prometheus's text format. The label `worker` says whose each series is,
 * from 1 on. They are not summed: a sum of rates or a maximum is up to the query, and one process in trouble would not
 * show.
 */
export function joinedMetrics(metrics: readonly (readonly MetricValues[])[]): Promise<string> {
  const labelled = metrics.map((own, n) =>
    own.map(({ values, ...metric }) => ({
      ...metric,
      values: values.map((value) => ({ ...value, labels: { worker: n + 1, ...value.labels } })),
      // Each set of labels has one value. By the metric's own aggregator, prom-client would leave out some metrics.
      aggregator: 'first',
    })),
  );
  return AggregatorRegistry.aggregate(labelled).metrics();
}
