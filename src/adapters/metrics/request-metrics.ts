import { Counter, type Registry } from 'prom-client';

/** Seconds, from one commit on a good disk to twice the default STORE_TIMEOUT. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The error number of a defect, and the statuses that it can come with: a stream may break off after its 200. */
const DEFECT = 50_000;
const DEFECT_STATUSES = [500, 200];

/** Requests that are alike. */
interface Kind {
  readonly operation: string;
  /** `none` if their clients had disconnected before the response. */
  readonly status: number | 'none';
  readonly error: number | '';
  requests: number;
  /** The sum of their durations. */
  seconds: number;
  /** How many have a duration, by the first of BUCKETS that it is not above; the last number is for those above all. */
  readonly durations: number[];
}

/**
 * Counts requests and their durations, in plain numbers that are read at a scrape: to find the labels of each request took
 * prom-client 7 microseconds. It has no way to set a histogram, so that one is written here.
 */
export function requestMetrics(registry: Registry) {
  /** Some dozens: to compare numbers is quicker than to make a key. */
  const kinds: Kind[] = [];

  function kindOf(operation: string, status: number | 'none', error: number | ''): Kind {
    const isAlike = (one: Kind) => one.status === status && one.error === error && one.operation === operation;
    let kind = kinds.find(isAlike);
    if (kind === undefined) {
      kind = { operation, status, error, requests: 0, seconds: 0, durations: Array(BUCKETS.length + 1).fill(0) };
      kinds.push(kind);
    }
    return kind;
  }

  new Counter({
    name: 'http_requests_total',
    help: 'Requests by operation, status (none: the client disconnected before the response) and error number',
    labelNames: ['operation', 'status', 'error'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { operation, status, error, requests } of kinds) {
        this.inc({ operation, status, error }, requests);
      }
    },
  });

  return {
    /** Counts a request: without a status if its client disconnected, without a duration if the parser refused it. */
    requestEnded(
      operation = '',
      status: number | 'none' = 'none',
      error: number | '' = '',
      milliseconds?: number,
    ): void {
      const kind = kindOf(operation, status, error);
      kind.requests++;
      if (milliseconds === undefined) return;
      const seconds = milliseconds / 1_000;
      const found = BUCKETS.findIndex((limit) => seconds <= limit);
      const bucket = found < 0 ? BUCKETS.length : found;
      kind.durations[bucket] = (kind.durations[bucket] ?? 0) + 1;
      kind.seconds += seconds;
    },
    /**
     * Lets the defects of these operations, and of requests for none, begin at 0. Prometheus sees an increase only
     * between two samples, so a series that began with its first defect would hide that defect.
     */
    beginDefects(operations: readonly string[]): void {
      for (const operation of [...operations, '']) {
        for (const status of DEFECT_STATUSES) kindOf(operation, status, DEFECT);
      }
    },
    /** The histogram of durations, in Prometheus's text format. */
    durations(): string {
      const series = Map.groupBy(kinds, ({ operation, status }) => `operation="${operation}",status="${status}"`);
      return [...HEAD, ...[...series].flatMap(([labels, alike]) => linesOf(labels, alike)), ''].join('\n');
    },
  };
}

const NAME = 'http_request_duration_seconds';
const HEAD = [
  '',
  `# HELP ${NAME} From the end of the headers to the end of the response, excluding requests refused by the HTTP parser`,
  `# TYPE ${NAME} histogram`,
];

/** A series of the histogram; none without a duration. */
function linesOf(labels: string, alike: readonly Kind[]): string[] {
  const sum = (of: (kind: Kind) => number | undefined) => alike.reduce((total, kind) => total + (of(kind) ?? 0), 0);
  let count = 0;
  const lines = [...BUCKETS, '+Inf'].map((limit, bucket) => {
    count += sum(({ durations }) => durations[bucket]);
    return `${NAME}_bucket{le="${limit}",${labels}} ${count}`;
  });
  if (count === 0) return [];
  return [...lines, `${NAME}_sum{${labels}} ${sum(({ seconds }) => seconds)}`, `${NAME}_count{${labels}} ${count}`];
}
