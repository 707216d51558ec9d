import { setTimeout as delay } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { EndpointState } from '../../application/webhooks/ports.ts';
import { requestMetrics } from './request-metrics.ts';

/** Where the current values are. */
export interface Sources {
  /** The names of all operations. */
  readonly operations: readonly string[];
  /** Lists that are being streamed. */
  readonly streams: () => number;
  /** Requests for changes in progress. */
  readonly followers: () => number;
  /** Connections to the database, by state. */
  readonly connections: () => Readonly<Record<string, number>>;
  /** Seconds for which an open transaction has held back the feed of changes; may reject, or take long. */
  readonly changesLag: () => Promise<number>;
  /** Rejects while plants cannot be stored; may take long. */
  readonly ready: () => Promise<unknown>;
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

  return {
    /** All current values in Prometheus's text format. */
    text: () => registry.metrics(),
    requestEnded: requests.requestEnded,
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
      const { operations, streams, followers, connections, changesLag, ready } = sources;
      requests.beginDefects(operations);
      gauge('plant_store_ready', 'Whether plants can be stored: 0 while /ready says why not', async () =>
        (await inTime(ready().then(() => true))) ? 1 : 0,
      );
      gauge('plant_store_streams', 'Lists that are being streamed', streams);
      gauge('plant_store_followers', 'Requests for changes in progress, those that wait included', followers);
      gauge(
        'plant_store_changes_lag_seconds',
        'Time for which an open transaction has held back /changes; NaN if it is not known',
        async () => (await inTime(changesLag())) ?? Number.NaN,
      );
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

/**
 * Adds the metrics of webhooks.
 *
 * @param endpoints their names, whose counters begin at 0
 * @param states of all that are known, called by each gauge at each scrape; undefined if that is not known in time, and then
 * there are no values
 * @param waitingSeconds for how long the oldest plant has waited
 */
function webhookMetrics(
  registry: Registry,
  endpoints: readonly string[],
  states: () => Promise<readonly EndpointState[] | undefined>,
  waitingSeconds: (state: EndpointState) => number,
) {
  const common = { labelNames: ['endpoint'] as const, registers: [registry] };
  const delivered = new Counter({
    name: 'plant_store_webhook_delivered_total',
    help: 'Plants that the endpoint of a webhook has acknowledged to this process, repetitions included',
    ...common,
  });
  for (const endpoint of endpoints) delivered.inc({ endpoint }, 0);

  const gauges: [name: string, help: string, value: (state: EndpointState | undefined) => number | undefined][] = [
    [
      'lag_seconds',
      'Time for which the oldest change has waited that is not acknowledged, since this process has seen it',
      (state) => state && waitingSeconds(state),
    ],
    ['parked', '1 if nothing is sent until somebody acts', (state) => Number(state?.isParked ?? true)],
  ];
  for (const [name, help, value] of gauges) {
    new Gauge({
      name: `plant_store_webhook_${name}`,
      help,
      ...common,
      async collect() {
        const found = await states();
        this.reset();
        for (const endpoint of found === undefined ? [] : endpoints) {
          const known = value(found?.find((state) => state.endpoint === endpoint));
          if (known !== undefined) this.set({ endpoint }, known);
        }
      },
    });
  }

  return { delivered: (endpoint: string, plants: number) => delivered.inc({ endpoint }, plants) };
}
