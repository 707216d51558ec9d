/** The limits of an instance, which its processes divide among themselves. */
interface Shared {
  readonly processes: number;
  readonly database: { readonly kind: 'embedded' } | { readonly kind: 'postgres'; readonly poolSize: number };
  /** Bytes; not divided. */
  readonly bodyLimit: number;
  readonly limits: { readonly maxRequests: number; readonly maxRequestBytes: number };
  readonly maxStreams: number;
  readonly maxFollowers: number;
  readonly maxConnections: number;
  /** Milliseconds; not divided. */
  readonly shutdownTimeout: number;
  readonly management: unknown;
}

/** The part of SHUTDOWN_TIMEOUT in which a process must close. Its end takes time, too, and the first one waits for it. */
const CLOSE_WITHIN = 0.9;

/** Connections that a process needs, so that reads and creates do not wait for each other. */
const LEAST_CONNECTIONS = 2;

/** What keeps the processes from dividing these limits: one line for each, naming the variable and what it must be. */
export function sharingProblems(config: Shared): string[] {
  const { processes, database, bodyLimit, limits, maxStreams, maxFollowers, maxConnections } = config;
  // It lacks the signals and sockets that processes share elsewhere.
  if (process.platform === 'win32') return ['PROCESSES must be 1 on Windows'];
  if (database.kind === 'embedded') {
    return ['PROCESSES must be 1 with the embedded database in DATA_DIR, which one process can open: set DATABASE_URL'];
  }
  const needs: [name: string, limit: number, least: number][] = [
    ['POOL_SIZE', database.poolSize, LEAST_CONNECTIONS],
    ['MAX_REQUESTS', limits.maxRequests, 1],
    ['MAX_STREAMS', maxStreams, 1],
    ['MAX_FOLLOWERS', maxFollowers, 1],
    ['MAX_CONNECTIONS', maxConnections, 1],
  ];
  const small = needs.filter(([, limit, least]) => limit < least * processes);
  const lines = small.map(
    ([name, , least]) => `${name} must be at least ${least * processes}, ${least} for each of ${processes} PROCESSES`,
  );
  if (limits.maxRequestBytes >= bodyLimit * processes) return lines;
  return [...lines, `MAX_REQUEST_BYTES must be at least ${processes} times BODY_LIMIT, once for each of PROCESSES`];
}

/**
 * The configuration of one of the processes: its part of each limit, rounded down, so that the sum never exceeds it. Only
 * the first process has the management port.
 */
export function shareOf<Config extends Shared>({ management: _, ...config }: Config): Omit<Config, 'management'> {
  const share = (limit: number) => Math.floor(limit / config.processes);
  const { database, limits } = config;
  return {
    ...config,
    database: database.kind === 'postgres' ? { ...database, poolSize: share(database.poolSize) } : database,
    limits: { maxRequests: share(limits.maxRequests), maxRequestBytes: share(limits.maxRequestBytes) },
    maxStreams: share(config.maxStreams),
    maxFollowers: share(config.maxFollowers),
    maxConnections: share(config.maxConnections),
    shutdownTimeout: config.shutdownTimeout * CLOSE_WITHIN,
  };
}
