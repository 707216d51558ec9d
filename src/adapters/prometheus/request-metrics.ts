import type { Metric, Registry } from 'prom-client';

/** Seconds, from one commit on a good disk to twice the default STORE_TIMEOUT. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The error number of a defect, and the statuses that it can come with: a stream may break off after its 200. */
const DEFECT = 50_000;
const DEFECT_STATUSES = [500, 200];

/** Requests of one operation that ended alike. */
interface Outcome {
  readonly labels: { readonly operation: string; readonly status: string };
  readonly error: string;
  requests: number;
  /** The total time of the requests whose time is known. */
  seconds: number;
  /** How many of them took no longer than each bound and longer than the bound before; last, longer than all bounds. */
  readonly counts: number[];
}

/**
 * Counts requests and adds up their time. Not by prom-client, which finds a value by a string that it makes of all
 * labels: that takes a thirtieth of the CPU time of a create. The registry collects the values as it does those of its
 * own metrics.
 */
export function requestMetrics(registry: Registry) {
  const outcomes = new Map<string | undefined, Map<number, Outcome>>();

  function outcomeOf(operation: string | undefined, status: number | undefined, error: number | undefined): Outcome {
    // Unique, since a status has three digits.
    const key = (error ?? 0) * 1_000 + (status ?? 0);
    const known = outcomes.get(operation)?.get(key);
    if (known !== undefined) return known;
    const outcome = {
      labels: { operation: operation ?? '', status: `${status ?? 'none'}` },
      error: `${error ?? ''}`,
      requests: 0,
      seconds: 0,
      counts: Array.from({ length: BOUNDS.length + 1 }, () => 0),
    };
    outcomes.set(operation, (outcomes.get(operation) ?? new Map()).set(key, outcome));
    return outcome;
  }

  const all = () => [...outcomes.values()].flatMap((byError) => [...byError.values()]);
  const requests = {
    name: 'http_requests_total',
    help: 'Requests by operation, status (none: the client disconnected before the response) and error number',
    type: 'counter',
  };
  register(registry, requests, () =>
    all().map(({ labels, error, requests }) => ({ labels: { ...labels, error }, value: requests })),
  );
  const durations = {
    name: 'http_request_duration_seconds',
    help: 'From the end of the headers to the end of the response, excluding requests refused by the HTTP parser',
    type: 'histogram',
  };
  register(registry, durations, () => {
    const alike = Map.groupBy(all(), ({ labels }) => `${labels.operation} ${labels.status}`);
    return [...alike.values()].flatMap((group) => histogram(durations.name, group));
  });

  return {
    /** Counts a request: without a status if its client disconnected, without a duration if the parser refused it. */
    requestEnded(
      operation: string | undefined,
      status: number | undefined,
      error: number | undefined,
      milliseconds: number | undefined,
    ): void {
      const outcome = outcomeOf(operation, status, error);
      outcome.requests++;
      if (milliseconds === undefined) return;
      const seconds = milliseconds / 1_000;
      let bucket = 0;
      while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket++;
      outcome.seconds += seconds;
      outcome.counts[bucket] = (outcome.counts[bucket] as number) + 1;
    },
    /**
     * Lets the defects of these operations, and of requests for none, begin at 0. Prometheus sees an increase only
     * between two samples, so a series that began with its first defect would hide that defect.
     */
    beginDefects(operations: readonly string[]): void {
      for (const operation of [...operations, undefined]) {
        for (const status of DEFECT_STATUSES) outcomeOf(operation, status, DEFECT);
      }
    },
  };
}

interface Value {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Unless it is the metric's name. */
  readonly metricName?: string;
}

/** A registry needs no more of a metric than its name and `get`, but its type asks for prom-client's own classes. */
function register(registry: Registry, head: { readonly name: string }, values: () => Value[]): void {
  const metric = { ...head, get: async () => ({ ...head, values: values() }) };
  registry.registerMetric(metric as unknown as Metric);
}

/** https://prometheus.io/docs/instrumenting/exposition_formats/#histograms-and-summaries: buckets are cumulative. */
function histogram(name: string, outcomes: readonly Outcome[]): Value[] {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const labels = outcomes[0]?.labels ?? {};
  let count = 0;
  const buckets = [...BOUNDS, '+Inf'].map((le, bucket) => {
    count += sum(outcomes.map(({ counts }) => counts[bucket] ?? 0));
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
  });
  if (count === 0) return [];
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum(outcomes.map(({ seconds }) => seconds)) },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
