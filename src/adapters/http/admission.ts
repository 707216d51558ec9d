import { PlantStoreError } from '../../domain/errors.ts';

export interface AdmissionLimits {
  /** Requests under way at once, bodies still being read and waits for the store included. */
  readonly maxRequests: number;
  /** Bytes of their bodies together. */
  readonly maxRequestBytes: number;
}

/**
 * Bounds what is under way, and with it the memory and the wait: what comes on top is refused at once.
 *
 * @param overloaded is told of each refusal
 * @returns a function that does the work of a request whose body has at most `bytes`, or throws PlantStoreError
 * `store_unavailable`
 */
export function admission({ maxRequests, maxRequestBytes }: AdmissionLimits, overloaded?: () => void) {
  let requests = 0;
  let allBytes = 0;
  return async (bytes: number, work: () => Promise<void>): Promise<void> => {
    if (requests >= maxRequests || allBytes + bytes > maxRequestBytes) {
      overloaded?.();
      throw new PlantStoreError(
        'store_unavailable',
        'the service is overloaded; sending the same request again is safe',
      );
    }
    requests++;
    allBytes += bytes;
    try {
      await work();
    } finally {
      requests--;
      allBytes -= bytes;
    }
  };
}
