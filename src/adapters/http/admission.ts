import { PlantStoreError } from '../../domain/errors.ts';
import { HttpError } from './errors.ts';

export interface AdmissionLimits {
  /** Requests under way at once, bodies still being read and waits for the store included. */
  readonly maxRequests: number;
  /** Bytes of their bodies together. */
  readonly maxRequestBytes: number;
}

interface Ticket {
  readonly bytes: number;
  /** As performance.now() counts. */
  readonly since: number;
  readonly giveUp: (reason: HttpError) => void;
}

/** Milliseconds that a body may take to come even if nobody else gets in meanwhile. */
const SLOW_BODY = 100;

/**
 * Bounds what is under way, and with it the memory and the wait: what comes on top is refused at once, unless a body
 * has been coming for long, which then loses its place: slow uploads must not keep everyone else out.
 *
 * @param overloaded is told of each refusal
 * @returns a function that does the work of a request whose body, of at most `bytes`, is still to be read, or throws
 * PlantStoreError `store_unavailable`, or HttpError `request_too_slow` if it has to make room
 */
export function admission({ maxRequests, maxRequestBytes }: AdmissionLimits, overloaded?: () => void) {
  const underWay = new Set<Ticket>();
  /** Those whose body is still coming, the oldest first. */
  const arriving = new Set<Ticket>();
  let allBytes = 0;

  function leave(ticket: Ticket): void {
    arriving.delete(ticket);
    if (underWay.delete(ticket)) allBytes -= ticket.bytes;
  }

  function makeRoom(): void {
    const [slowest] = arriving;
    overloaded?.();
    if (slowest === undefined || performance.now() - slowest.since < SLOW_BODY) {
      throw new PlantStoreError(
        'store_unavailable',
        'the service is overloaded; sending the same request again is safe',
      );
    }
    leave(slowest);
    const message = 'the service is overloaded, and this body came too slowly; sending the same request again is safe';
    slowest.giveUp(new HttpError('request_too_slow', message, { Connection: 'close' }));
  }

  return async <Body>(bytes: number, read: () => Promise<Body>, work: (body: Body) => Promise<void>): Promise<void> => {
    while (underWay.size >= maxRequests || allBytes + bytes > maxRequestBytes) makeRoom();
    const { promise: givenUp, reject: giveUp } = Promise.withResolvers<never>();
    const ticket = { bytes, since: performance.now(), giveUp };
    underWay.add(ticket);
    arriving.add(ticket);
    allBytes += bytes;
    try {
      const body = await Promise.race([read(), givenUp]);
      arriving.delete(ticket);
      await work(body);
    } finally {
      leave(ticket);
    }
  };
}
