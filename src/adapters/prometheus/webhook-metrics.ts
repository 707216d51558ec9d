import { Counter, Gauge, type Registry } from 'prom-client';
import type { EndpointState } from '../../application/webhooks/ports.ts';

/**
 * Adds the metrics of webhooks.
 *
 * @param endpoints their names, whose counters begin at 0
 * @param states of all that are known, called by each gauge at each scrape; undefined if that is not known in time, and then
 * there are no values
 * @param waitingSeconds for how long the oldest plant has waited
 */
export function webhookMetrics(
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
      'Time for which the oldest change has waited that is not acknowledged, as far as this process has seen it',
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
