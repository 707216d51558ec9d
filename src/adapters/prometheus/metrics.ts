import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What the service tells Prometheus; each method costs less than a microsecond. */
export interface Metrics {
  readonly contentType: string;
  /** Everything as it is now, in Prometheus's text format. */
  text(): Promise<string>;
  /** A request is over: without a status if its client did not wait, without a duration if it was never read. */
  answered(
    operation: string | undefined,
    status: number | undefined,
    error: number | undefined,
    milliseconds: number | undefined,
  ): void;
  /** A request was refused because too much was under way. */
  overloaded(): void;
  /** An INSERT with so many plants has been done. */
  inserted(plants: number): void;
  /** From now on every text tells what these functions return. */
  watch(watched: Watched): void;
}

interface Watched {
  /** Plants that wait for a statement. */
  readonly waiting: () => number;
  /** Connections to the database, by what they do. */
  readonly connections: () => Readonly<Record<string, number>>;
  /** Lines of the log that were dropped so far. */
  readonly droppedLines: () => number;
}

/** Seconds, from what one commit takes on a good disk to twice the default STORE_TIMEOUT. */
const DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Up to the largest BATCH_ROWS. */
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000];

/**
 * Counts for Prometheus, beside what prom-client tells of any Node.js process. A label has values of ours only, never
 * a path or another text that strangers could choose: each new value is a new series to keep.
 */
export function prometheusMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Requests that are over, by operation, status (none: the client left before the response) and error number',
    labelNames: ['operation', 'status', 'error'] as const,
    registers,
  });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'From the end of the headers to the end of the answer; without what the HTTP parser refused',
    labelNames: ['operation', 'status'] as const,
    buckets: DURATIONS,
    registers,
  });
  const refused = new Counter({
    name: 'plant_store_overload_refusals_total',
    help: 'Requests refused because MAX_REQUESTS or MAX_REQUEST_BYTES were under way',
    registers,
  });
  const batches = new Histogram({
    name: 'plant_store_batch_plants',
    help: 'Plants in one INSERT',
    buckets: BATCHES,
    registers,
  });

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    answered(operation = '', status, error, milliseconds) {
      const label = status ?? 'none';
      requests.inc({ operation, status: label, error: error ?? '' });
      if (milliseconds !== undefined) durations.observe({ operation, status: label }, milliseconds / 1_000);
    },
    overloaded: () => refused.inc(),
    inserted: (plants) => batches.observe(plants),
    watch({ waiting, connections, droppedLines }) {
      new Counter({
        name: 'plant_store_log_lines_dropped_total',
        help: 'Lines of the log that could not be written',
        registers,
        collect() {
          this.reset();
          this.inc(droppedLines());
        },
      });
      new Gauge({
        name: 'plant_store_waiting_plants',
        help: 'Plants that wait for an INSERT',
        registers,
        collect() {
          this.set(waiting());
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
