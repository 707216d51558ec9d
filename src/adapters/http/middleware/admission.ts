import { HttpError } from '../errors.ts';

export type Limit = ReturnType<typeof limit>;

/**
 * Bounds how many of a kind there are at once, and with them memory and latency: further ones are refused at once.
 *
 * @param refusal the code of the error
 * @param maxBytes of all together; one alone may have more
 */
function limit(refusal: 'overloaded' | 'concurrency_limit', most: number, maxBytes = Number.POSITIVE_INFINITY) {
  let count = 0;
  let allBytes = 0;
  return {
    /** Takes the room for bytes, also those that are still arriving. @throws HttpError */
    reserve(bytes: number): void {
      if (count >= most || (allBytes > 0 && allBytes + bytes > maxBytes)) throw new HttpError(refusal);
      allBytes += bytes;
    },
    release(bytes: number): void {
      allBytes -= bytes;
    },
    /** Not before the body has come, so that slow uploads of small bodies keep nobody out. @throws HttpError */
    enter(): void {
      if (count >= most) throw new HttpError(refusal);
      count++;
    },
    leave(): void {
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

/** All limits of what the service does at once, so that no kind keeps another out. */
export function admission({ limits: { maxRequests, maxRequestBytes }, maxStreams, maxFollowers }: AdmissionOptions) {
  return {
    read: limit('overloaded', maxRequests, maxRequestBytes),
    write: limit('overloaded', maxRequests, maxRequestBytes),
    /** Lists that are imported. */
    list: limit('concurrency_limit', 4, maxRequestBytes / LIST_WEIGHT),
    wait: limit('concurrency_limit', maxFollowers, maxRequestBytes),
    /** Reads that look at far more rows than they return, besides those that are streamed: they take turns at the store. */
    search: limit('concurrency_limit', 4),
    stream: limit('concurrency_limit', maxStreams),
    /** Responses that clients have not read yet. */
    unread: limit('overloaded', Number.POSITIVE_INFINITY, maxRequestBytes),
  };
}

export type Admission = ReturnType<typeof admission>;
