import type { IncomingMessage } from 'node:http';
import { HttpError } from '../http-errors.ts';
import type { OperationMiddleware } from './state.ts';

export interface AdmissionLimits {
  /** Requests in flight at once, from when their body has come. */
  readonly maxRequests: number;
  /** Total bytes of their bodies, and of those that are still arriving. */
  readonly maxRequestBytes: number;
}

/**
 * Bounds the requests in flight, and with them memory and latency: further ones are refused at once. While its body
 * arrives, a request only takes the room for that, so that slow uploads of small bodies keep nobody out.
 *
 * @param refusal the code of the error if a limit is reached
 * @param weight what a byte of a body counts while its request is in flight
 */
export function admission(
  { maxRequests, maxRequestBytes }: AdmissionLimits,
  refusal: 'overloaded' | 'too_many_alike' = 'overloaded',
  weight = 1,
) {
  let inFlight = 0;
  let allBytes = 0;

  /** The body has come. With a weight, one that is larger than the room is let in alone. */
  const admit: OperationMiddleware = ({ state }, next) => {
    const { place, body } = state;
    const bytes = body.length * weight;
    const all = allBytes + bytes - place.bytes;
    if (inFlight >= maxRequests || (inFlight > 0 && all > maxRequestBytes)) throw new HttpError(refusal);
    allBytes = all;
    inFlight++;
    place.bytes = bytes;
    place.isInFlight = true;
    state.isAdmitted = true;
    return next();
  };

  return {
    /**
     * Takes the room for a body, and in the end gives back what the request has taken.
     *
     * @param sizeOf the bytes that a body has at most
     */
    reserve(sizeOf: (request: IncomingMessage) => number): OperationMiddleware {
      return async ({ req, state }, next) => {
        const bytes = sizeOf(req);
        if (inFlight >= maxRequests || allBytes + bytes > maxRequestBytes) throw new HttpError(refusal);
        const place = { bytes, isInFlight: false };
        allBytes += bytes;
        state.place = place;
        try {
          await next();
        } finally {
          allBytes -= place.bytes;
          if (place.isInFlight) inFlight--;
        }
      };
    },
    admit,
    inFlight: () => inFlight,
  };
}
