import { HttpError } from '../pipeline/errors.ts';

export interface AdmissionLimits {
  /** Requests in flight at once, including those whose body is still being read and those waiting for the store. */
  readonly maxRequests: number;
  /** Total bytes of their bodies: the declared size or, without one, what has arrived so far. */
  readonly maxRequestBytes: number;
}

/** The slot of a request. */
interface Ticket {
  /** The declared size of its body or, without one, what has arrived so far. */
  bytes: number;
  /** Whether its body is declared to have these bytes; otherwise they are counted as they arrive. */
  readonly isDeclared: boolean;
  /** False once it has been given back or lost. */
  isHeld: boolean;
  /** While its body is still arriving. */
  wait: Wait | undefined;
}

/** The wait for a body. */
interface Wait {
  /** As performance.now() counts. */
  readonly since: number;
  readonly abort: (reason: HttpError) => void;
}

/** Milliseconds that an arriving body keeps its slot even while other requests are refused. */
const SLOW_BODY = 100;

/**
 * Bounds the requests in flight, and with them memory and latency. Further requests are refused at once, unless a body
 * has been arriving for too long: that one loses its slot, so that slow uploads cannot block everyone else.
 *
 * @param overloaded called at each refusal
 */
export function admission({ maxRequests, maxRequestBytes }: AdmissionLimits, overloaded?: () => void) {
  let inFlight = 0;
  /** Those whose body is still arriving, oldest first. */
  const arriving = new Set<Ticket>();
  let allBytes = 0;
  let lastRefused = 0;

  function arrive(ticket: Ticket): void {
    arriving.delete(ticket);
    // V8 may keep former members of a Set alive for long (see store-call.ts), and this one refers to the whole request.
    ticket.wait = undefined;
  }

  /** Gives the slot back. */
  function leave(ticket: Ticket): void {
    if (ticket.wait !== undefined) arrive(ticket);
    if (!ticket.isHeld) return;
    ticket.isHeld = false;
    inFlight--;
    allBytes -= ticket.bytes;
  }

  /** @returns whether a slow body has lost its slot to a request of so many bytes */
  function makeRoom(bytes: number): boolean {
    const [slowest] = arriving;
    overloaded?.();
    if (slowest?.wait === undefined || performance.now() - slowest.wait.since < SLOW_BODY) {
      lastRefused = bytes;
      return false;
    }
    const message =
      'the service is overloaded, and this body arrived too slowly; sending the same request again is safe';
    slowest.wait.abort(new HttpError('request_too_slow', message, { Connection: 'close' }));
    leave(slowest);
    return true;
  }

  /**
   * Takes a slot, which has to be given back.
   *
   * @param declared the bytes of the body, if the request tells
   * @throws HttpError `overloaded` if a limit is reached
   */
  function enter(declared: number | undefined): Ticket {
    const bytes = declared ?? 0;
    while (inFlight >= maxRequests || allBytes + bytes > maxRequestBytes) {
      if (!makeRoom(bytes)) throw new HttpError('overloaded');
    }
    inFlight++;
    allBytes += bytes;
    return { bytes, isDeclared: declared !== undefined, isHeld: true, wait: undefined };
  }

  /**
   * Counts bytes of the body that have arrived, unless they were declared. The wait for it ends with HttpError `overloaded`
   * if that is too much.
   */
  function grow(ticket: Ticket, bytes: number): void {
    if (ticket.isDeclared || !arriving.has(ticket)) return;
    ticket.bytes += bytes;
    allBytes += bytes;
    while (allBytes > maxRequestBytes && arriving.has(ticket)) {
      if (makeRoom(ticket.bytes)) continue;
      ticket.wait?.abort(new HttpError('overloaded', undefined, { Connection: 'close' }));
      leave(ticket);
    }
  }

  /**
   * Waits for a body that has not arrived yet.
   *
   * @throws HttpError `request_too_slow` if the slot is lost to another request meanwhile
   */
  function arrival<Body>(ticket: Ticket, reading: Promise<Body>): Promise<Body> {
    return new Promise((resolve, reject) => {
      arriving.add(ticket);
      ticket.wait = { since: performance.now(), abort: reject };
      reading.then((body) => {
        arrive(ticket);
        resolve(body);
      }, reject);
    });
  }

  return {
    enter,
    grow,
    arrival,
    leave,
    /** How many more requests can be admitted, if their bodies are no larger than the last refused one. */
    freeSlots: () => (allBytes + lastRefused > maxRequestBytes ? 0 : maxRequests - inFlight),
  };
}

export type Admission = ReturnType<typeof admission>;
