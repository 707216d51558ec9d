import { HttpError } from '../http-errors.ts';
import type { BodyReader } from './body.ts';
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

  return {
    /** Takes the room for a body, reads it, and counts the request as in flight. */
    admit({ sizeOf, read }: BodyReader): OperationMiddleware {
      return async (ctx, next) => {
        const { state } = ctx;
        let bytes = sizeOf(ctx.req);
        if (inFlight >= maxRequests || allBytes + bytes > maxRequestBytes) throw new HttpError(refusal);
        allBytes += bytes;
        try {
          const body = read(ctx);
          state.body = body instanceof Promise ? await body : body;
          const weighed = state.body.length * weight;
          const all = allBytes + weighed - bytes;
          // One that is larger than the room is let in alone.
          if (inFlight >= maxRequests || (inFlight > 0 && all > maxRequestBytes)) throw new HttpError(refusal);
          allBytes = all;
          bytes = weighed;
          inFlight++;
          state.isAdmitted = true;
          await next();
        } finally {
          allBytes -= bytes;
          if (state.isAdmitted) inFlight--;
        }
      };
    },
    inFlight: () => inFlight,
  };
}
