import type { ServerResponse } from 'node:http';
import { HttpError } from '../errors.ts';
import type { Reply } from '../operations/responses.ts';

/** Limits the concurrent requests of a kind, and with them memory and latency. Further requests are refused at once. */
interface Limit {
  /** Reserves memory for bytes, including those that are still arriving. @throws HttpError */
  reserve(bytes: number): void;
  release(bytes: number): void;
  /** Called once the body has come, so that slow uploads of small bodies keep nobody out. @throws HttpError */
  enter(): void;
  leave(): void;
  count(): number;
}

/**
 * @param refusal the code of the error
 * @param maxBytes of all requests together; a single request may have more
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

export interface AdmissionOptions {
  /** Apply to reads and, separately, to writes. */
  readonly limits: {
    /** Concurrent requests whose bodies have come. */
    readonly maxRequests: number;
    /** Total bytes of their bodies, including those still arriving, and of responses that clients have not read. */
    readonly maxRequestBytes: number;
  };
  /** Concurrent streams of lists. */
  readonly maxStreams: number;
  /** Concurrent requests for changes, including those that wait for a change. */
  readonly maxFollowers: number;
}

/** Bytes of memory for each byte of a list: for its records and, twice, for the message of each refused record. */
const LIST_WEIGHT = 16;

/** Lists that are imported at once, and searches. */
const LISTS_MAX = 4;
const SEARCHES_MAX = 4;

/** All limits, one for each kind, so that no kind keeps another out. */
export type Admission = Readonly<Record<'read' | 'write' | 'list' | 'wait' | 'search' | 'stream' | 'unread', Limit>>;

export function admission(options: AdmissionOptions): Admission {
  const { maxStreams, maxFollowers } = options;
  const { maxRequests, maxRequestBytes } = options.limits;
  return {
    read: limit('overloaded', maxRequests, maxRequestBytes),
    write: limit('overloaded', maxRequests, maxRequestBytes),
    list: limit('concurrency_limit', LISTS_MAX, maxRequestBytes / LIST_WEIGHT),
    wait: limit('concurrency_limit', maxFollowers, maxRequestBytes),
    // Reads that examine far more rows than they return, apart from streams: they take turns at the store.
    search: limit('concurrency_limit', SEARCHES_MAX),
    stream: limit('concurrency_limit', maxStreams),
    // Responses that clients have not read yet.
    unread: limit('overloaded', Number.POSITIVE_INFINITY, maxRequestBytes),
  };
}

/** Smaller bodies are not counted: the buffer of a socket holds more. */
const SMALL_BYTES_MAX = 16 * 1024;

/** Counts a body until its response closes. @throws HttpError `overloaded` or `concurrency_limit` beyond the limit */
export function countUnread(body: Reply['body'], response: ServerResponse, { stream, unread }: Admission): void {
  // The client may have left: then nothing is sent, and the response will not close again.
  if (response.closed) return;
  if (typeof body !== 'string') {
    stream.enter();
    response.once('close', stream.leave);
  } else if (body.length > SMALL_BYTES_MAX) {
    const size = Buffer.byteLength(body);
    unread.reserve(size);
    response.once('close', () => unread.release(size));
  }
}
