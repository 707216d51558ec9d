import { setTimeout as delay } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { EndpointState } from '../../application/webhooks/ports.ts';
import { requestMetrics } from './request-metrics.ts';
import { webhookMetrics } from './webhook-metrics.ts';

/** Where the current values are. */
export interface Sources {
  /** The names of all operations. */
  readonly operations: readonly string[];
  /** Plants waiting for a statement. */
  readonly waiting: () => number;
  /** Lists that are being streamed. */
  readonly streams: () => number;
  /** Requests for changes in progress. */
  readonly followers: () => number;
  /** Connections to the database, by state. */
  readonly connections: () => Readonly<Record<string, number>>;
  /** Seconds for which an open transaction has held back the feed of changes; may reject, or take long. */
  readonly changesLag: () => Promise<number>;
  /** Octets that a reader keeps in the WAL, if it has one to which this happens. */
  readonly walBytes?: () => number;
  /** Statements that found no room on the database's disk so far. */
  readonly diskFailures: () => number;
  /** Rejects while plants cannot be stored; may take long. */
  readonly ready: () => Promise<unknown>;
  /** Log lines dropped so far. */
  readonly droppedLines: () => number;
}

/** Milliseconds: less than the second within which a scrape gets its response. */
const TIMEOUT = 800;

const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000];

/**
 * The service's metrics beside prom-client's defaults for Node.js. Each method takes two microseconds at most, except
 * for `text`. Label values are a fixed set, never a path or other text that clients could choose: each new value is a new
 * series in memory.
 */
export function prometheusMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  // Gauges with names of counters, which promtool refuses; the gauges beside them have the same numbers by type.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  const requests = requestMetrics(registry);

  const refused = new Counter({
    name: 'plant_store_overload_refusals_total',
    help: 'Requests refused because there are too many at once, by the limit: of requests, or of a kind that takes long',
    labelNames: ['limit'] as const,
    registers,
  });
  for (const limit of ['requests', 'long_requests']) refused.inc({ limit }, 0);
  const batches = new Histogram({
    name: 'plant_store_batch_plants',
    help: 'Plants that one INSERT has created',
    buckets: BATCH_BUCKETS,
    registers,
  });

  function gauge(name: string, help: string, value: () => number | Promise<number>): void {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await value());
      },
    });
  }

  /** Of what is counted elsewhere. */
  function counter(name: string, help: string, value: () => number): void {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(value());
      },
    });
  }

  return {
    /** All current values in Prometheus's text format. */
    text: () => registry.metrics(),
    requestEnded: requests.requestEnded,
    /** Counts a request refused because there are too many at once. */
    overloaded: (limit: string) => refused.inc({ limit }),
    /** Counts an INSERT, by the number of its plants. */
    inserted: (plants: number) => batches.observe(plants),
    /** Adds the metrics of webhooks, by the names of their endpoints. */
    webhooks: (
      endpoints: readonly string[],
      states: () => Promise<readonly EndpointState[]>,
      waitingSeconds: (state: EndpointState) => number,
    ) => webhookMetrics(registry, endpoints, () => inTime(states()), waitingSeconds),
    /** Adds metrics whose values these functions return at each scrape, and the series that begin at 0. */
    collectFrom(sources: Sources): void {
      const { operations, waiting, streams, followers, connections, changesLag, walBytes } = sources;
      requests.beginDefects(operations);
      counter('plant_store_log_lines_dropped_total', 'Log lines that could not be written', sources.droppedLines);
      counter(
        'plant_store_full_disk_failures_total',
        "Statements that found no room on the database's disk, repetitions included",
        sources.diskFailures,
      );
      gauge('plant_store_ready', 'Whether plants can be stored: 0 while /ready says why not', async () =>
        (await inTime(sources.ready().then(() => true))) ? 1 : 0,
      );
      gauge('plant_store_waiting_plants', 'Plants waiting for an INSERT', waiting);
      gauge('plant_store_streams', 'Lists that are being streamed', streams);
      gauge('plant_store_followers', 'Requests for changes in progress, those that wait included', followers);
      gauge(
        'plant_store_changes_lag_seconds',
        'Time for which an open transaction has held back /changes; NaN if it is not known',
        async () => (await inTime(changesLag())) ?? Number.NaN,
      );
      if (walBytes !== undefined) {
        gauge('plant_store_wal_bytes', 'Octets in the WAL of the embedded database, not in its file yet', walBytes);
      }
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

/**
 * What the database says; undefined if it fails or does not say it in time. If a scrape waited for longer, Prometheus
 * would give up and report that the service is down.
 */
function inTime<T>(value: Promise<T>): Promise<T | undefined> {
  return Promise.race([value, delay(TIMEOUT, undefined, { ref: false })]).catch(() => undefined);
}
