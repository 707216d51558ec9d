import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds: less than the second within which a scrape gets its response. */
const TIMEOUT = 800;

/**
 * What the database says; undefined if it fails or does not say it in time. If a scrape waited for longer, Prometheus
 * would give up and report that the service is down.
 */
export function inTime<T>(value: Promise<T>): Promise<T | undefined> {
  return Promise.race([value, delay(TIMEOUT, undefined, { ref: false })]).catch(() => undefined);
}
