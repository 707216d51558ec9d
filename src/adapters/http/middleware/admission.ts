import { HttpError } from '../errors.ts';

/** Bounds how many of a kind there are at once, and with them memory and latency: further ones are refused at once. */
export interface Limit {
  /** Takes the room for bytes, also those that are still arriving. @throws HttpError */
  reserve(bytes: number): void;
  release(bytes: number): void;
  /** Not before the body has come, so that slow uploads of small bodies keep nobody out. @throws HttpError */
  enter(): void;
  leave(): void;
  count(): number;
}

/**
 * @param refusal the code of the error
 * @param maxBytes of all together; one alone may have more
 */
function limit(
  refusal: 'overloaded' | 'concurrency_limit',
  maxCount: number,
  maxBytes = Number.POSITIVE_INFINITY,
): Limit {
  let count = 0;
  let allBytes = 0;
  return {
    reserve(bytes) {
      if (count >= maxCount || (allBytes > 0 && allBytes + bytes > maxBytes)) throw new HttpError(refusal);
      allBytes += bytes;
    },
    release(bytes) {
      allBytes -= bytes;
    },
    enter() {
      if (count >= maxCount) throw new HttpError(refusal);
      count++;
    },
    leave() {
      count--;
    },
    count: () => count,
  };
}

/** Counts work while it goes on. @throws HttpError */
export async function during<T>(limit: Limit, work: () => Promise<T>): Promise<T> {
  limit.enter();
  try {
    return await work();
  } finally {
    limit.leave();
  }
}

export interface AdmissionOptions {
  /** Of reads, and the same of writes. */
  readonly limits: {
    /** In flight at once, from when their body has come. */
    readonly maxRequests: number;
    /** Total bytes of their bodies, also of those that are still arriving, and of responses that clients have not read. */
    readonly maxRequestBytes: number;
  };
  /** Lists that are streamed at once. */
  readonly maxStreams: number;
  /** Requests for changes at once, including those that wait for a change. */
  readonly maxFollowers: number;
}

/** Bytes of memory for each byte of a list: its records, and a message for each that is refused, twice. */
const LIST_WEIGHT = 16;

/** Lists that are imported at once, and searches. */
const LISTS_MAX = 4;
const SEARCHES_MAX = 4;

/** All limits of what the service does at once, so that no kind keeps another out. */
export type Admission = Readonly<Record<'read' | 'write' | 'list' | 'wait' | 'search' | 'stream' | 'unread', Limit>>;

export function admission(options: AdmissionOptions): Admission {
  const { maxStreams, maxFollowers } = options;
  const { maxRequests, maxRequestBytes } = options.limits;
  return {
    read: limit('overloaded', maxRequests, maxRequestBytes),
    write: limit('overloaded', maxRequests, maxRequestBytes),
    list: limit('concurrency_limit', LISTS_MAX, maxRequestBytes / LIST_WEIGHT),
    wait: limit('concurrency_limit', maxFollowers, maxRequestBytes),
    // Reads that look at far more rows than they return, besides those that are streamed: they take turns at the store.
    search: limit('concurrency_limit', SEARCHES_MAX),
    stream: limit('concurrency_limit', maxStreams),
    // Responses that clients have not read yet.
    unread: limit('overloaded', Number.POSITIVE_INFINITY, maxRequestBytes),
  };
}
