import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import manifest from '../../package.json' with { type: 'json' };
import type { Metrics } from '../adapters/metrics/metrics.ts';
import { deliverWebhooks } from '../application/webhooks/deliver-webhooks.ts';
import type { DeliveryObserver } from '../application/webhooks/ports.ts';
import type { Config } from '../config/config.ts';
import type { Store } from './store.ts';

/** Milliseconds for which startup waits until the database reports whether it has a feed. */
const CHECK_MS_MAX = 1_000;

/** Milliseconds for which shutdown waits until acknowledgements are stored. */
const END_MS_MAX = 500;

/**
 * Announces all written plants, in the background.
 *
 * @returns a function that stops this
 * @throws Error, saying what to do, if the database has no feed of changes
 */
export async function startWebhooks(
  { webhooks: endpoints, proxy }: Pick<Config, 'webhooks' | 'proxy'>,
  store: Store,
  log: Logger,
  metrics: Pick<Metrics, 'webhooks'>,
): Promise<() => Promise<void>> {
  if (endpoints.length === 0) return async () => {};
  if (!(await Promise.race([store.hasFeed(), delay(CHECK_MS_MAX, true, { ref: false })]))) {
    throw new Error(
      'Webhooks need the feed of changes, which a table that Citus distributes does not have: ' +
        'unset WEBHOOK_URLS and WEBHOOKS_FILE.',
    );
  }
  const names = endpoints.map(({ name }) => name);
  const counters = metrics.webhooks(names, store.endpointStates, store.trackEndpoint);
  // Imported only where it is needed: the module loads an HTTP client.
  const { webhookSender } = await import('../adapters/webhooks/webhook-sender.ts');
  const userAgent = `plant-store/${manifest.version}`;
  const { send, beginWave, close } = webhookSender(endpoints, { userAgent, proxy });
  const end = new AbortController();
  const observer = observerOf(log, counters);
  const delivery = deliverWebhooks({ feed: store, positions: store.positions, send, beginWave, observer }, end.signal);
  return async () => {
    end.abort();
    await close();
    await Promise.race([delivery, delay(END_MS_MAX, undefined, { ref: false })]);
  };
}

/** Milliseconds after which an interruption that goes on is logged again. */
const LOG_INTERVAL_MS = 60_000;

function observerOf(log: Logger, metrics: Pick<DeliveryObserver, 'delivered'>): DeliveryObserver {
  let interruptionLoggedAt = Number.NEGATIVE_INFINITY;
  return {
    delivered: metrics.delivered,
    failed(webhook, { reason, failures, retryIn, isParked, failing: { changed, id } }) {
      const plant = { changed: `${changed}`, id: `${id}` };
      if (isParked) log.error({ webhook, ...plant, reason, failures }, 'webhook is parked: npm run webhooks');
      else log.warn({ webhook, ...plant, reason, failures, retryMs: Math.round(retryIn) }, 'webhook failed');
    },
    interrupted(err) {
      if (performance.now() - interruptionLoggedAt < LOG_INTERVAL_MS) return;
      interruptionLoggedAt = performance.now();
      log.warn({ err }, 'webhooks are interrupted');
    },
  };
}
