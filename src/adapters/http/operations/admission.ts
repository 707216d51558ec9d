import { HttpError } from '../pipeline/errors.ts';

export interface AdmissionLimits {
  /** Requests under way at once, bodies still being read and waits for the store included. */
  readonly maxRequests: number;
  /** Bytes of their bodies together, as declared or, of those that declare none, as sent so far. */
  readonly maxRequestBytes: number;
}

interface Ticket {
  /** Those that its body has declared, or sent so far if it declares none. */
  bytes: number;
  /** As performance.now() counts. */
  readonly since: number;
  /** Ends the wait for its body; undefined once that has come. */
  giveUp: ((reason: HttpError) => void) | undefined;
}

export interface Admission {
  /**
   * Does the work of a request whose body is still to be read.
   *
   * @param declared the bytes of its body, undefined if it declares none: they count as they come
   * @param read is given what to call with the size of each fragment
   * @throws HttpError `overloaded` if too much is under way, `request_too_slow` if it has to make room for others
   */
  admit<Body>(
    declared: number | undefined,
    read: (received: (bytes: number) => void) => Promise<Body>,
    work: (body: Body) => Promise<void>,
  ): Promise<void>;
  /** How many requests more may be under way, if their bodies are no larger than the last that was refused. */
  room(): number;
}

/** Milliseconds that a body may take to come even if nobody else gets in meanwhile. */
const SLOW_BODY = 100;

/**
 * Bounds what is under way, and with it the memory and the wait: what comes on top is refused at once, unless a body
 * has been coming for long, which then loses its place: slow uploads must not keep everyone else out.
 *
 * @param overloaded is called at each refusal
 */
export function admission({ maxRequests, maxRequestBytes }: AdmissionLimits, overloaded?: () => void): Admission {
  const underWay = new Set<Ticket>();
  /** Those whose body is still coming, the oldest first. */
  const arriving = new Set<Ticket>();
  let allBytes = 0;
  let lastRefused = 0;

  function arrive(ticket: Ticket): void {
    arriving.delete(ticket);
    // V8 may keep what has been in a Set alive for long (see store-call.ts), and all of the request hangs on this.
    ticket.giveUp = undefined;
  }

  function leave(ticket: Ticket): void {
    arrive(ticket);
    if (underWay.delete(ticket)) allBytes -= ticket.bytes;
  }

  /** @returns whether a slow body has lost its place to a request of so many bytes */
  function makeRoom(bytes: number): boolean {
    const [slowest] = arriving;
    overloaded?.();
    if (slowest === undefined || performance.now() - slowest.since < SLOW_BODY) {
      lastRefused = bytes;
      return false;
    }
    const message = 'the service is overloaded, and this body came too slowly; sending the same request again is safe';
    slowest.giveUp?.(new HttpError('request_too_slow', message, { Connection: 'close' }));
    leave(slowest);
    return true;
  }

  function enter(bytes: number): Ticket {
    while (underWay.size >= maxRequests || allBytes + bytes > maxRequestBytes) {
      if (!makeRoom(bytes)) throw new HttpError('overloaded');
    }
    const ticket: Ticket = { bytes, since: performance.now(), giveUp: undefined };
    underWay.add(ticket);
    arriving.add(ticket);
    allBytes += bytes;
    return ticket;
  }

  function grow(ticket: Ticket, bytes: number): void {
    if (!arriving.has(ticket)) return;
    ticket.bytes += bytes;
    allBytes += bytes;
    while (allBytes > maxRequestBytes && arriving.has(ticket)) {
      if (makeRoom(ticket.bytes)) continue;
      ticket.giveUp?.(new HttpError('overloaded', undefined, { Connection: 'close' }));
      leave(ticket);
    }
  }

  return {
    async admit<Body>(
      declared: number | undefined,
      read: (received: (bytes: number) => void) => Promise<Body>,
      work: (body: Body) => Promise<void>,
    ) {
      const ticket = enter(declared ?? 0);
      try {
        const body = await new Promise<Body>((resolve, reject) => {
          ticket.giveUp = reject;
          read((bytes) => declared === undefined && grow(ticket, bytes)).then(resolve, reject);
        });
        arrive(ticket);
        await work(body);
      } finally {
        leave(ticket);
      }
    },
    room: () => (allBytes + lastRefused > maxRequestBytes ? 0 : maxRequests - underWay.size),
  };
}
