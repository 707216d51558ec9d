import { Counter, Gauge, type Registry } from 'prom-client';
import type { Position } from '../../application/ports.ts';
import type { EndpointState } from '../../application/webhooks/ports.ts';
import { isAfter } from '../feed/change-cursor.ts';

/**
 * Adds the metrics of webhooks.
 *
 * @param endpoints their names, whose counters begin at 0
 * @param states of all that are known, called by each gauge at each scrape; undefined if that is not known in time, and then
 * there are no values
 */
export function webhookMetrics(
  registry: Registry,
  endpoints: readonly string[],
  states: () => Promise<readonly EndpointState[] | undefined>,
) {
  const common = { labelNames: ['endpoint'] as const, registers: [registry] };
  const delivered = new Counter({
    name: 'plant_store_webhook_delivered_total',
    help: 'Plants that the endpoint of a webhook has acknowledged to this process, repetitions included',
    ...common,
  });
  const failed = new Counter({
    name: 'plant_store_webhook_failed_total',
    help: 'Attempts of this process to deliver to the endpoint of a webhook that failed',
    ...common,
  });
  for (const endpoint of endpoints) for (const counter of [delivered, failed]) counter.inc({ endpoint }, 0);

  const waitingTime = waitingTimes();
  const gauges: [name: string, help: string, value: (state: EndpointState | undefined) => number | undefined][] = [
    ['lag_entries', 'Changes that wait for the endpoint of a webhook, 1,000 at most', (state) => state?.backlog],
    [
      'lag_seconds',
      'Time for which a change has waited, as far as scrapes show',
      (state) => state && waitingTime(state),
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

  return {
    delivered: (endpoint: string, plants: number) => delivered.inc({ endpoint }, plants),
    failed: (endpoint: string) => failed.inc({ endpoint }),
  };
}

/**
 * Plants have no time. What was the end of the feed at one scrape, and is not delivered at another, has waited for the
 * time between both.
 */
function waitingTimes(): (state: EndpointState) => number {
  const marks = new Map<string, { readonly end: Position; readonly at: number }>();
  return ({ endpoint, position, end }) => {
    let mark = marks.get(endpoint);
    // The feed ends before the mark where the database was set back.
    if (mark === undefined || !isAfter(mark.end, position) || isAfter(mark.end, end)) {
      mark = { end, at: performance.now() };
      marks.set(endpoint, mark);
    }
    return isAfter(mark.end, position) ? (performance.now() - mark.at) / 1_000 : 0;
  };
}
