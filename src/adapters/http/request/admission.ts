import { HttpError } from '../http-errors.ts';

export interface AdmissionLimits {
  /** Requests in flight at once, including those whose body is still being read and those waiting for the store. */
  readonly maxRequests: number;
  /** Total bytes of their bodies. */
  readonly maxRequestBytes: number;
}

/** The slot of a request. */
interface Ticket {
  /** The size of its body, at most. */
  bytes: number;
  /** False once it has been given back or lost. */
  isHeld: boolean;
  /** While its body is still arriving: since when, as performance.now() counts, and what ends the wait for it. */
  wait: { readonly since: number; readonly abort: (reason: HttpError) => void } | undefined;
}

/** Milliseconds that an arriving body keeps its slot even while other requests are refused. */
const SLOW_BODY = 100;

/**
 * Bounds the requests in flight, and with them memory and latency. Further requests are refused at once, unless a body
 * has been arriving for too long: that one loses its slot, so that slow uploads cannot block everyone else.
 */
export function admission({ maxRequests, maxRequestBytes }: AdmissionLimits) {
  let inFlight = 0;
  let allBytes = 0;
  /** Those whose body is still arriving, oldest first. */
  const arriving = new Set<Ticket>();

  function endWait(ticket: Ticket): void {
    arriving.delete(ticket);
    // V8 may keep former members of a Set alive for long (docs/performance.md), and this one refers to a whole request.
    ticket.wait = undefined;
  }

  /** Gives the slot back. */
  function leave(ticket: Ticket): void {
    if (ticket.wait !== undefined) endWait(ticket);
    if (!ticket.isHeld) return;
    ticket.isHeld = false;
    inFlight--;
    allBytes -= ticket.bytes;
  }

  /** Takes the slot of the body that has been arriving for longest. @returns whether it was slow */
  function evictSlowest(): boolean {
    const [slowest] = arriving;
    if (slowest?.wait === undefined || performance.now() - slowest.wait.since < SLOW_BODY) return false;
    const message =
      'the service is overloaded, and this body arrived too slowly; sending the same request again is safe';
    slowest.wait.abort(new HttpError('request_too_slow', message, { Connection: 'close' }));
    leave(slowest);
    return true;
  }

  /**
   * Takes a slot, which has to be given back.
   *
   * @param bytes of the body, at most
   * @throws HttpError `overloaded` if a limit is reached
   */
  function enter(bytes: number): Ticket {
    while (inFlight >= maxRequests || allBytes + bytes > maxRequestBytes) {
      if (evictSlowest()) continue;
      throw new HttpError('overloaded');
    }
    inFlight++;
    allBytes += bytes;
    return { bytes, isHeld: true, wait: undefined };
  }

  /**
   * Waits for a body that has not arrived yet, which counts with its real size from then on.
   *
   * @throws HttpError `request_too_slow` if the slot is lost to another request meanwhile
   */
  function arrival(ticket: Ticket, reading: Promise<Buffer>): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      arriving.add(ticket);
      ticket.wait = { since: performance.now(), abort: reject };
      reading.then((body) => {
        endWait(ticket);
        if (ticket.isHeld) {
          allBytes += body.length - ticket.bytes;
          ticket.bytes = body.length;
        }
        resolve(body);
      }, reject);
    });
  }

  return {
    enter,
    arrival,
    leave,
    inFlight: () => inFlight,
  };
}

export type Admission = ReturnType<typeof admission>;
