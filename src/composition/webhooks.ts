import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../adapters/postgres/database.ts';
import type { Run } from '../adapters/postgres/run.ts';
import { sharedRun } from '../adapters/postgres/shared-run.ts';
import { webhookEndpoints } from '../adapters/postgres/webhooks/webhook-endpoints.ts';
import { webhookPositions } from '../adapters/postgres/webhooks/webhook-positions.ts';
import {
  MISSING_ROW,
  registerEndpoints,
  registrationGate,
} from '../adapters/postgres/webhooks/webhook-registration.ts';
import type { prometheusMetrics } from '../adapters/prometheus/metrics.ts';
import { type WebhookEndpoint, webhookSender } from '../adapters/webhooks/webhook-sender.ts';
import { deliverWebhooks } from '../application/webhooks/deliver-webhooks.ts';
import type { DeliveryObserver, ReadEntries } from '../application/webhooks/ports.ts';
import { WAVE } from '../application/webhooks/send-page.ts';
import { ownVersion } from '../process/own-version.ts';

interface WebhookOptions {
  readonly database: Database;
  readonly schemaReady: () => Promise<void> | undefined;
  readonly log: Logger;
  readonly metrics: Pick<ReturnType<typeof prometheusMetrics>, 'webhooks'>;
}

/** Milliseconds that the start waits for a database to say whether it has a feed. */
const CHECK_TIMEOUT = 1_000;

/** Milliseconds that the end waits for what is acknowledged to be stored. */
const END_TIMEOUT = 500;

/** Announces all plants that are written through calls which wait for `writeReady`. */
export function webhooksOf(
  endpoints: readonly WebhookEndpoint[],
  { database, schemaReady, log, metrics }: WebhookOptions,
) {
  if (endpoints.length === 0) return { writeReady: schemaReady, start: async () => async () => {} };
  const names = endpoints.map(({ name }) => name);
  const ensureRegistered = registerEndpoints(database, names);

  return {
    /** As `schemaReady`, for writes of plants: also waits until every endpoint has its place in the feed. */
    writeReady: registrationGate(ensureRegistered, schemaReady, log),
    /**
     * Delivers them in the background.
     *
     * @returns a function that ends it
     * @throws Error, saying what to do, if the database has no feed of changes
     */
    async start(feed: ReadEntries, run: Run): Promise<() => Promise<void>> {
      // If the database does not respond now, the gate finds out later.
      const isOnCitus = database.isDistributed().catch(() => false);
      if (await Promise.race([isOnCitus, delay(CHECK_TIMEOUT, false, { ref: false })])) {
        throw new Error(
          'Webhooks need the feed of changes, which a table that Citus distributes does not have: ' +
            'unset WEBHOOK_URLS and WEBHOOKS_FILE.',
        );
      }
      const { states } = webhookEndpoints(database, run);
      const counters = metrics.webhooks(names, sharedRun(states));
      const { send, close } = webhookSender(endpoints, {
        connections: WAVE,
        userAgent: `plant-store/${ownVersion()}`,
      });
      const deliver = deliverWebhooks({
        feed,
        positions: webhookPositions(database, run, names, ensureRegistered),
        send,
        observer: observerOf(log, counters),
        now: () => performance.now(),
        sleep: (milliseconds, signal) => delay(milliseconds, undefined, { signal }).catch(() => {}),
        random: Math.random,
      });
      const end = new AbortController();
      const delivering = deliver(end.signal);
      let ending: Promise<unknown> | undefined;
      return async () => {
        end.abort();
        ending ??= close().then(() => Promise.race([delivering, delay(END_TIMEOUT, undefined, { ref: false })]));
        await ending;
      };
    },
  };
}

/** Milliseconds after which what goes on is logged again. */
const LOG_INTERVAL = 60_000;

function observerOf(log: Logger, metrics: Pick<DeliveryObserver, 'delivered'> & { failed(endpoint: string): void }) {
  const logged = new Map<string, number>();
  function isDue(subject: string): boolean {
    const now = performance.now();
    if (now - (logged.get(subject) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL) return false;
    logged.set(subject, now);
    return true;
  }
  const observer: DeliveryObserver = {
    delivered: metrics.delivered,
    failed(webhook, { reason, failures, retryIn, isParked, failing: { changed, id } }) {
      metrics.failed(webhook);
      const plant = { changed: `${changed}`, id: `${id}` };
      if (isParked) log.error({ webhook, ...plant, reason, failures }, 'webhook is parked: npm run webhooks');
      else log.warn({ webhook, ...plant, reason, failures, retryMs: Math.round(retryIn) }, 'webhook failed');
    },
    interrupted(err) {
      if (isDue('')) log.warn({ err }, 'webhooks are interrupted');
    },
    missing(webhook) {
      if (isDue(webhook)) log.error({ webhook }, `webhook gets nothing: ${MISSING_ROW}`);
    },
  };
  return observer;
}
