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
  /** Ends the wait for its body; undefined once that has come. */
  giveUp: ((reason: HttpError) => void) | undefined;
}

interface Admission {
  /**
   * Does the work of a request whose body, of at most `bytes`, is still to be read.
   *
   * @throws PlantStoreError `store_unavailable` if too much is under way, HttpError `request_too_slow` if it has to make
   * room for others
   */
  admit<Body>(bytes: number, read: () => Promise<Body>, work: (body: Body) => Promise<void>): Promise<void>;
  /** How many requests more may be under way, if their bodies are no larger than the last that was refused. */
  room(): number;
}

/** Milliseconds that a body may take to come even if nobody else gets in meanwhile. */
const SLOW_BODY = 100;

/**
 * Bounds what is under way, and with it the memory and the wait: what comes on top is refused at once, unless a body
 * has been coming for long, which then loses its place: slow uploads must not keep everyone else out.
 *
 * @param overloaded is told of each refusal
 */
export function admission({ maxRequests, maxRequestBytes }: AdmissionLimits, overloaded?: () => void): Admission {
  const underWay = new Set<Ticket>();
  /** Those whose body is still coming, the oldest first. */
  const arriving = new Set<Ticket>();
  let allBytes = 0;
  let lastRefused = 0;

  function arrive(ticket: Ticket): void {
    arriving.delete(ticket);
    // V8 may keep what has been in a Set alive for long (see batcher.ts), and all of the request hangs on this.
    ticket.giveUp = undefined;
  }

  function leave(ticket: Ticket): void {
    arrive(ticket);
    if (underWay.delete(ticket)) allBytes -= ticket.bytes;
  }

  function makeRoom(bytes: number): void {
    const [slowest] = arriving;
    overloaded?.();
    if (slowest === undefined || performance.now() - slowest.since < SLOW_BODY) {
      lastRefused = bytes;
      throw new PlantStoreError(
        'store_unavailable',
        'the service is overloaded; sending the same request again is safe',
      );
    }
    const message = 'the service is overloaded, and this body came too slowly; sending the same request again is safe';
    slowest.giveUp?.(new HttpError('request_too_slow', message, { Connection: 'close' }));
    leave(slowest);
  }

  async function admit<Body>(bytes: number, read: () => Promise<Body>, work: (body: Body) => Promise<void>) {
    while (underWay.size >= maxRequests || allBytes + bytes > maxRequestBytes) makeRoom(bytes);
    const ticket: Ticket = { bytes, since: performance.now(), giveUp: undefined };
    underWay.add(ticket);
    arriving.add(ticket);
    allBytes += bytes;
    try {
      const body = await new Promise<Body>((resolve, reject) => {
        ticket.giveUp = reject;
        read().then(resolve, reject);
      });
      arrive(ticket);
      await work(body);
    } finally {
      leave(ticket);
    }
  }

  return {
    admit,
    room: () => (allBytes + lastRefused > maxRequestBytes ? 0 : maxRequests - underWay.size),
  };
}
