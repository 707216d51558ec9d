import { Counter, Histogram, type Registry } from 'prom-client';

/** In seconds, from one commit on a good disk to twice the default STORE_TIMEOUT. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The error number of a defect, and the statuses that it can come with: a stream may break off after its 200. */
const DEFECT = 50_000;
const DEFECT_STATUSES = [500, 200];

/** Requests that wait to be counted. */
const PENDING_MAX = 256;

/** Requests that ended one after another with the same labels. */
interface Streak {
  readonly operation: string;
  /** `none` if its client had disconnected before the response. */
  readonly status: number | 'none';
  readonly error: number | '';
  readonly milliseconds: (number | undefined)[];
}

/**
 * Counts requests and their durations. prom-client takes 7 microseconds to count a request between others' work, and less
 * than one in a loop over many, so they are counted in batches, and before each scrape.
 */
export function requestMetrics(registry: Registry) {
  let streaks: Streak[] = [];
  let count = 0;
  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Requests by operation, status (none: the client disconnected before the response) and error number',
    labelNames: ['operation', 'status', 'error'] as const,
    registers: [registry],
    collect: countPending,
  });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'From the end of the headers to the end of the response, excluding requests refused by the HTTP parser',
    labelNames: ['operation', 'status'] as const,
    buckets: BUCKETS_SECONDS,
    registers: [registry],
    collect: countPending,
  });

  function countPending(): void {
    for (const { operation, status, error, milliseconds } of streaks) {
      requests.inc({ operation, status, error }, milliseconds.length);
      for (const time of milliseconds) if (time !== undefined) durations.observe({ operation, status }, time / 1_000);
    }
    streaks = [];
    count = 0;
  }

  return {
    requestEnded(operation = '', status: Streak['status'] = 'none', error: Streak['error'] = '', time?: number): void {
      const last = streaks.at(-1);
      if (last?.operation === operation && last.status === status && last.error === error) last.milliseconds.push(time);
      else streaks.push({ operation, status, error, milliseconds: [time] });
      if (++count >= PENDING_MAX) countPending();
    },
    /**
     * Lets the defects of these operations, and of requests for none, begin at 0. Prometheus sees an increase only
     * between two samples, so a series that began with its first defect would hide that defect.
     */
    beginDefects(operations: readonly string[]): void {
      for (const operation of [...operations, '']) {
        for (const status of DEFECT_STATUSES) requests.inc({ operation, status, error: DEFECT }, 0);
      }
    },
  };
}
