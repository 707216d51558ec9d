import { HttpError } from '../http-errors.ts';

export interface AdmissionLimits {
  /** Requests in flight at once, also while their body is read or they wait for the store. */
  readonly maxRequests: number;
  /** Total bytes of their bodies. */
  readonly maxRequestBytes: number;
}

/** The slot of a request. */
interface Slot {
  /** The size of its body, at most. */
  bytes: number;
  /** While its body is arriving: since when, as performance.now() counts, and a function that ends the wait. */
  upload: { readonly since: number; readonly giveUp: (reason: HttpError) => void } | undefined;
}

/** Milliseconds that an arriving body keeps its slot even while other requests are refused. */
const SLOW_BODY = 100;

const TOO_SLOW = 'the service is overloaded, and this body arrived too slowly; sending the same request again is safe';

/**
 * Bounds the requests in flight, and with them memory and latency. Further requests are refused at once, unless a body
 * has been arriving for too long and its slot is enough: its request loses the slot, so that slow uploads cannot block
 * everyone else.
 */
export function admission({ maxRequests, maxRequestBytes }: AdmissionLimits) {
  let inFlight = 0;
  let allBytes = 0;
  /** The slots of requests whose body is still arriving, oldest first. */
  const uploading = new Set<Slot>();

  /**
   * Gives up the oldest slow upload whose slot is enough; its request then leaves.
   *
   * @throws HttpError `overloaded` if there is none
   */
  function makeRoom(bytes: number): void {
    const cutoff = performance.now() - SLOW_BODY;
    const isEnough = (slot: Slot) => allBytes - slot.bytes + bytes <= maxRequestBytes;
    const slow = uploading.values().find((slot) => slot.upload && slot.upload.since <= cutoff && isEnough(slot));
    if (slow === undefined) throw new HttpError('overloaded');
    uploading.delete(slow);
    slow.upload?.giveUp(new HttpError('request_too_slow', TOO_SLOW, { Connection: 'close' }));
  }

  return {
    /**
     * Takes a slot, which has to be given back.
     *
     * @param bytes of the body, at most
     * @throws HttpError `overloaded` if a limit is reached
     */
    enter(bytes: number): Slot {
      if (inFlight >= maxRequests || allBytes + bytes > maxRequestBytes) makeRoom(bytes);
      inFlight++;
      allBytes += bytes;
      return { bytes, upload: undefined };
    },

    /**
     * Waits for a body that has not arrived yet, which counts with its real size from then on.
     *
     * @throws HttpError `request_too_slow` if the slot is lost to another request meanwhile
     */
    async awaitBody(slot: Slot, reading: Promise<Buffer>): Promise<Buffer> {
      const { promise: givenUp, reject: giveUp } = Promise.withResolvers<never>();
      slot.upload = { since: performance.now(), giveUp };
      uploading.add(slot);
      try {
        const body = await Promise.race([reading, givenUp]);
        allBytes += body.length - slot.bytes;
        slot.bytes = body.length;
        return body;
      } finally {
        uploading.delete(slot);
        // V8 may keep former members of a Set alive for long (docs/performance.md): this refers to a whole request.
        slot.upload = undefined;
      }
    },

    /** Gives a slot back. */
    leave(slot: Slot): void {
      inFlight--;
      allBytes -= slot.bytes;
    },

    inFlight: () => inFlight,
  };
}

export type Admission = ReturnType<typeof admission>;
