import { HttpError } from '../http-errors.ts';

export interface AdmissionLimits {
  /** Requests in flight at once, from when their body has come. */
  readonly maxRequests: number;
  /** Total bytes of their bodies, and of those that are still arriving. */
  readonly maxRequestBytes: number;
}

/** What a request takes of the limits. */
interface Place {
  /** The size of its body, at most. */
  bytes: number;
  isInFlight: boolean;
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

  return {
    /**
     * Takes a place, which has to be given back.
     *
     * @param bytes of the body, at most
     * @throws HttpError, the refusal, if a limit is reached
     */
    enter(bytes: number): Place {
      if (inFlight >= maxRequests || allBytes + bytes > maxRequestBytes) throw new HttpError(refusal);
      allBytes += bytes;
      return { bytes, isInFlight: false };
    },

    /**
     * The body has come, and has so many bytes. With a weight, one that is larger than the room is let in alone.
     *
     * @throws HttpError, the refusal, if a limit is reached
     */
    begin(place: Place, bytes: number): void {
      const all = allBytes + bytes * weight - place.bytes;
      if (inFlight >= maxRequests || (inFlight > 0 && all > maxRequestBytes)) throw new HttpError(refusal);
      allBytes = all;
      inFlight++;
      place.bytes = bytes * weight;
      place.isInFlight = true;
    },

    /** Gives a place back. */
    leave({ bytes, isInFlight }: Place): void {
      allBytes -= bytes;
      if (isInFlight) inFlight--;
    },

    inFlight: () => inFlight,
  };
}

export type Admission = ReturnType<typeof admission>;
