import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { requestMetrics } from './request-metrics.ts';

interface Sources {
  /** Plants waiting for a statement. */
  readonly waiting: () => number;
  /** Connections to the database, by state. */
  readonly connections: () => Readonly<Record<string, number>>;
  /** Seconds for which an open transaction has held back the feed of changes; may reject. */
  readonly changesLag: () => Promise<number>;
  /** Log lines dropped so far. */
  readonly droppedLines: () => number;
}

/** Up to the largest BATCH_ROWS. */
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000];

/** The media type of Prometheus's text format. */
export const metricsContentType = Registry.PROMETHEUS_CONTENT_TYPE;

/**
 * The service's metrics beside prom-client's defaults for Node.js. Each method takes less than a microsecond, except for
 * `text`. Label values are a fixed set, never a path or other text that clients could choose: each new value is a new
 * series in memory.
 */
export function prometheusMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = requestMetrics();

  const refused = new Counter({
    name: 'plant_store_overload_refusals_total',
    help: 'Requests refused because of MAX_REQUESTS, MAX_REQUEST_BYTES, MAX_STREAMS or MAX_FOLLOWERS',
    registers,
  });
  const batches = new Histogram({
    name: 'plant_store_batch_plants',
    help: 'Plants in one INSERT',
    buckets: BATCH_BUCKETS,
    registers,
  });

  return {
    contentType: metricsContentType,
    /** All current values in Prometheus's text format. */
    text: async () => `${await registry.metrics()}\n${requests.text()}`,
    requestEnded: requests.requestEnded,
    /** Counts a request refused for overload. */
    overloaded: () => refused.inc(),
    /** Counts an INSERT of so many plants. */
    inserted: (plants: number) => batches.observe(plants),
    /** Adds metrics whose values these functions return at each scrape. */
    collectFrom({ waiting, connections, changesLag, droppedLines }: Sources): void {
      new Counter({
        name: 'plant_store_log_lines_dropped_total',
        help: 'Log lines that could not be written',
        registers,
        collect() {
          this.reset();
          this.inc(droppedLines());
        },
      });
      new Gauge({
        name: 'plant_store_waiting_plants',
        help: 'Plants waiting for an INSERT',
        registers,
        collect() {
          this.set(waiting());
        },
      });
      new Gauge({
        name: 'plant_store_changes_lag_seconds',
        help: 'Time for which a transaction that is still open has held back /changes; NaN if the database does not tell',
        registers,
        async collect() {
          this.set(await changesLag().catch(() => Number.NaN));
        },
      });
      new Gauge({
        name: 'plant_store_pool_connections',
        help: 'Connections to the database: busy, idle, or not open (unused)',
        labelNames: ['state'] as const,
        registers,
        collect() {
          for (const [state, count] of Object.entries(connections())) this.set({ state }, count);
        },
      });
    },
  };
}
