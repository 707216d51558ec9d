/** The trace that a request belongs to, by the ids of W3C Trace Context. */
interface Trace {
  readonly traceId: string;
  /** The caller's span: this service creates none of its own. */
  readonly spanId: string;
}

/** Version, trace id, span id and flags; versions after 00 may append more after another dash. */
const TRACEPARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(-.*)?$/;

/**
 * Reads the header `traceparent` (https://www.w3.org/TR/trace-context/#traceparent-header).
 *
 * @returns undefined if it is missing or invalid
 */
export function traceOf(traceparent: unknown): Trace | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceId, spanId, suffix] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && suffix !== undefined)) return undefined;
  return { traceId, spanId };
}
