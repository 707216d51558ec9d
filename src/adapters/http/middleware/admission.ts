import type { ServerResponse } from 'node:http';
import { HttpError } from '../errors.ts';

/** Limits the concurrent requests of a kind, and with them memory and latency. Further requests are refused at once. */
interface Limit {
  /** Reserves memory for bytes, including those that are still arriving. @throws HttpError */
  reserve(bytes: number): Place;
  /** How many requests have entered. */
  count(): number;
}

interface Place {
  /** Called once the body has come, so that slow uploads of small bodies keep nobody out. @throws HttpError */
  enter(): void;
  /** Gives everything back. */
  leave(): void;
}

/**
 * @param code that of the error
 * @param bytesMax of all requests together; a single request may have more
 */
function limit(code: 'overloaded' | 'concurrency_limit', countMax: number, bytesMax = Number.POSITIVE_INFINITY): Limit {
  let count = 0;
  let allBytes = 0;
  return {
    reserve(bytes) {
      if (count >= countMax || (allBytes > 0 && allBytes + bytes > bytesMax)) throw new HttpError(code);
      allBytes += bytes;
      let hasEntered = false;
      return {
        enter() {
          if (count >= countMax) throw new HttpError(code);
          count++;
          hasEntered = true;
        },
        leave() {
          allBytes -= bytes;
          if (hasEntered) count--;
        },
      };
    },
    count: () => count,
  };
}

export interface AdmissionOptions {
  /** Concurrent reads and, separately, writes, whose bodies have come. */
  readonly maxRequests: number;
  /** Total bytes of their bodies, including those still arriving, and of responses that clients have not read. */
  readonly maxRequestBytes: number;
  /** Concurrent streams of lists. */
  readonly maxStreams: number;
  /** Concurrent requests for changes, including those that wait for a change. */
  readonly maxFollowers: number;
}

/** Bytes of memory for each byte of a list: for its records and, twice, for the message of each refused record. */
const LIST_WEIGHT = 16;

/** Lists that are imported at once, and searches. */
const [LISTS_MAX, SEARCHES_MAX] = [4, 4];

/** All limits, one for each kind, so that no kind keeps another out. */
export type Admission = Readonly<Record<'read' | 'write' | 'list' | 'wait' | 'search' | 'stream' | 'unread', Limit>>;

export function admission({ maxRequests, maxRequestBytes, maxStreams, maxFollowers }: AdmissionOptions): Admission {
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

/** Counts a body, or a stream, until its response closes. @throws HttpError beyond the limit */
export function countUnread(body: string | AsyncIterable<string>, response: ServerResponse, limits: Admission): void {
  // The client may have left: then nothing is sent, and the response will not close again.
  if (response.closed || (typeof body === 'string' && body.length <= SMALL_BYTES_MAX)) return;
  const place = typeof body === 'string' ? limits.unread.reserve(Buffer.byteLength(body)) : limits.stream.reserve(0);
  place.enter();
  response.once('close', place.leave);
}
