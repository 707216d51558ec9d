import type { Logger } from 'pino';
import type { Exchange } from '../exchange.ts';
import { type ReachedLimit, reachedLimit } from '../http-errors.ts';

/** Notified of every request, for metrics. Its methods must be fast and must not throw. */
export interface RequestObserver {
  /**
   * @param operation its operationId; undefined if the request matched none
   * @param status undefined if the client disconnected before the response
   * @param error the number of an Error response
   * @param milliseconds from the end of the headers and of the exchange before; undefined if the HTTP parser refused
   * the request
   */
  requestEnded(
    operation: string | undefined,
    status: number | undefined,
    error: number | undefined,
    milliseconds: number | undefined,
  ): void;
  /** A request was refused because there were too many at once. */
  overloaded(limit: ReachedLimit): void;
}

/**
 * Logs one line for each exchange that has ended. Query strings, bodies and most headers are never logged: they may
 * hold secrets.
 *
 * @param write writes a line of the level info as pino does, which would take a thirtieth of the CPU time of a create
 * to build it; undefined to leave such lines out
 * @param observer notified of each exchange as well
 */
export function requestLog(
  log: Logger,
  write: ((line: string) => void) | undefined,
  observer?: RequestObserver,
): (exchange: Exchange) => void {
  return ({ request, response, startedAt, requestId, operation, failure, bytesOut }) => {
    const milliseconds = performance.now() - startedAt;
    // A response that is not sent yet has Node's default status.
    const status = response.headersSent ? response.statusCode : undefined;
    const error = failure?.error;
    observer?.requestEnded(operation, status, error, milliseconds);
    const limit = reachedLimit(failure?.thrown);
    if (limit !== undefined) observer?.overloaded(limit);
    // Not by the status: a stream can break off after its 200.
    const isFailure = error !== undefined && error >= 50_000;
    if (!isFailure && write === undefined) return;
    const { 'content-length': length, traceparent } = request.headers;
    const trace = traceOf(traceparent);
    const members = {
      requestId,
      traceId: trace?.traceId,
      spanId: trace?.spanId,
      operation,
      method: request.method,
      path: pathOf(request.url ?? ''),
      status,
      error,
      durationMs: Math.round(milliseconds * 1000) / 1000,
      // A chunked body declares none.
      bytesIn: length === undefined ? undefined : Number(length),
      bytesOut,
      aborted: response.writableFinished ? undefined : true,
    };
    if (!isFailure) write?.(infoLine(JSON.stringify(members)));
    // A defect is an error; a temporary failure is a warning, with its cause's stack only: formatting its own stack
    // would take longer than everything else about refusing a request under overload.
    else if (error < 50_100) log.error({ ...members, err: failure?.thrown }, 'request');
    else log.warn({ ...members, ...causeOf(failure?.thrown) }, 'request');
  };
}

/** A line as pino's are; 30 is its number of the level. */
function infoLine(members: string): string {
  return `{"level":30,"time":${Date.now()},${members.slice(1, -1)},"msg":"request"}\n`;
}

function causeOf(thrown: unknown): { readonly reason?: string; readonly err?: unknown } {
  return thrown instanceof Error ? { reason: thrown.message, err: thrown.cause } : {};
}

/** Without the query, the fragment, and the user and password of an absolute target. */
function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : (URL.parse(target)?.pathname ?? '');
  const end = path.search(/[?#]/);
  return end < 0 ? path : path.slice(0, end);
}

/** Version, trace id, span id and flags; versions after 00 may append more after another dash. */
const TRACEPARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(-.*)?$/;

/**
 * The trace that a request belongs to, by its header `traceparent`, if that is valid
 * (https://www.w3.org/TR/trace-context/#traceparent-header). The span is the caller's: this service creates none.
 */
function traceOf(traceparent: unknown): { readonly traceId: string; readonly spanId: string } | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceId, spanId, suffix] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && suffix !== undefined)) return undefined;
  return { traceId, spanId };
}
