/** Which trace a request is part of, by the ids of the W3C's Trace Context. */
interface Trace {
  readonly traceId: string;
  /** The caller's span: this service makes none of its own. */
  readonly spanId: string;
}

/** Version, trace id, span id and flags; what a version after 00 adds comes behind another dash. */
const TRACEPARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(-.*)?$/;

/**
 * Reads the header `traceparent` (https://www.w3.org/TR/trace-context/#traceparent-header).
 *
 * @returns undefined if there is none, or none that is valid, which counts the same
 */
export function traceOf(traceparent: unknown): Trace | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceId, spanId, rest] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && rest !== undefined)) return undefined;
  return { traceId, spanId };
}
