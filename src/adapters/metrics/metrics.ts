import { setTimeout as delay } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { DeliveryObserver, EndpointState } from '../../application/webhooks/ports.ts';
import { requestMetrics } from './request-metrics.ts';

/** The current values of the API. */
interface ApiSources {
  /** The names of all operations. */
  readonly operations: readonly string[];
  /** Lists that are being streamed. */
  readonly streams: () => number;
  /** Requests for changes in progress. */
  readonly followers: () => number;
}

/** The current values of the store. */
interface StoreSources {
  /** Connections to the database, by state. */
  readonly connections: () => Readonly<Record<string, number>>;
  /** Seconds for which an open transaction has held back the feed of changes; may reject, or take long. */
  readonly heldBack: () => Promise<number>;
  /** Rejects while plants cannot be stored; may take long. */
  readonly ready: () => Promise<unknown>;
}

export interface Metrics {
  /** Counts a request: without a status if its client disconnected, without a duration if the parser refused it. */
  requestEnded(operation?: string, status?: number, error?: number, milliseconds?: number): void;
  /** All current values in Prometheus's text format. */
  text(): Promise<string>;
  /** Counts an INSERT, by the number of its plants. */
  inserted(plants: number): void;
  /** Adds metrics whose values these functions return at each scrape, and the series that begin at 0. */
  collectFrom(api: ApiSources, store: StoreSources): void;
  /**
   * Adds the metrics of webhooks.
   *
   * @param endpoints their names, whose counters begin at 0
   * @param states of all that are known, called by each gauge at each scrape; without them there are no values
   * @param trackEndpoint records a state, and returns the seconds for which the oldest plant has waited
   */
  webhooks(
    endpoints: readonly string[],
    states: () => Promise<readonly EndpointState[]>,
    trackEndpoint: (state: EndpointState) => number,
  ): Pick<DeliveryObserver, 'delivered'>;
}

/** Less than the second within which a scrape gets its response. */
const SOURCE_MS_MAX = 800;

/**
 * The service's metrics beside prom-client's defaults for Node.js. Label values are a fixed set, never a path or other text
 * that clients could choose: each new value is a new series in memory.
 */
export function prometheusMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  // Gauges with names of counters, which promtool refuses; the gauges beside them have the same numbers by type.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  const { requestEnded, beginDefects } = requestMetrics(registry);

  const batches = new Histogram({
    name: 'plant_store_batch_plants',
    help: 'Plants that one INSERT has created',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000],
    registers,
  });

  /** @param collect sets the values, by their labels, at each scrape */
  function gauge(name: string, help: string, labelNames: string[], collect: (gauge: Gauge) => unknown): void {
    new Gauge({
      name: `plant_store_${name}`,
      help,
      labelNames,
      registers,
      async collect() {
        await collect(this);
      },
    });
  }

  return {
    text: () => registry.metrics(),
    requestEnded,
    inserted: (plants) => batches.observe(plants),
    collectFrom({ operations, streams, followers }, { connections, heldBack, ready }) {
      beginDefects(operations);
      gauge('ready', 'Whether plants can be stored: 0 while /ready says why not', [], async (metric) =>
        metric.set((await inTime(ready().then(() => true))) ? 1 : 0),
      );
      gauge('streams', 'Lists that are being streamed', [], (metric) => metric.set(streams()));
      gauge('followers', 'Requests for changes in progress, those that wait included', [], (metric) =>
        metric.set(followers()),
      );
      const lag = 'Time for which an open transaction has held back /changes; NaN if it is not known';
      gauge('changes_lag_seconds', lag, [], async (metric) => metric.set((await inTime(heldBack())) ?? Number.NaN));
      const pool = 'Connections to the database: busy, idle, or not open (unused)';
      gauge('pool_connections', pool, ['state'], (metric) => {
        for (const [state, count] of Object.entries(connections())) metric.set({ state }, count);
      });
    },
    webhooks(endpoints, states, trackEndpoint) {
      const deliveries = new Counter({
        name: 'plant_store_webhook_delivered_total',
        help: 'Plants that the endpoint of a webhook has acknowledged to this process, repetitions included',
        labelNames: ['endpoint'],
        registers,
      });
      for (const endpoint of endpoints) deliveries.inc({ endpoint }, 0);

      function ofEndpoints(
        name: string,
        help: string,
        stateValue: (state?: EndpointState) => number | undefined,
      ): void {
        gauge(`webhook_${name}`, help, ['endpoint'], async (metric) => {
          const current = await inTime(states());
          metric.reset();
          for (const endpoint of current === undefined ? [] : endpoints) {
            const value = stateValue(current?.find((state) => state.endpoint === endpoint));
            if (value !== undefined) metric.set({ endpoint }, value);
          }
        });
      }
      const lag = 'Time since this process has seen the oldest change that is not acknowledged';
      ofEndpoints('lag_seconds', lag, (state) => state && trackEndpoint(state));
      ofEndpoints('parked', '1 if nothing is sent until somebody acts', (state) => Number(state?.isParked ?? true));
      return { delivered: (endpoint, plants) => deliveries.inc({ endpoint }, plants) };
    },
  };
}

/**
 * What the database says; undefined if it fails or does not say it in time. If a scrape waited for longer, Prometheus
 * would give up and report that the service is down.
 */
function inTime<T>(value: Promise<T>): Promise<T | undefined> {
  return Promise.race([value, delay(SOURCE_MS_MAX, undefined, { ref: false })]).catch(() => undefined);
}
