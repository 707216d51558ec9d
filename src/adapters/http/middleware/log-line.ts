import type { Logger } from 'pino';
import type { RequestContext } from './state.ts';

/** Notified of every request, for metrics. It must be fast and must not throw. */
export interface RequestObserver {
  /**
   * @param operation its operationId; undefined if the request matched none
   * @param status undefined if the client disconnected before the response
   * @param error the number of an Error response
   * @param milliseconds from the end of the headers; undefined if the HTTP parser refused the request
   */
  requestEnded(operation?: string, status?: number, error?: number, milliseconds?: number): void;
}

/**
 * The trace that a request belongs to (https://www.w3.org/TR/trace-context/#traceparent-header): version, trace id, span id
 * and flags; versions after 00 may append more. The span is the caller's: this service creates none.
 */
const TRACEPARENT = /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(?:-.*)?$/;

/**
 * Logs a line for a request whose response has closed. Query strings, bodies and most headers are never logged: they may
 * hold secrets.
 */
export function logRequest(
  { req, res, state }: Pick<RequestContext, 'req' | 'res' | 'state'>,
  log: Logger,
  observer?: RequestObserver,
): void {
  const { startedAt, requestId, operation, access, failure } = state;
  const milliseconds = performance.now() - startedAt;
  // A response that is not sent yet has Koa's default status.
  const status = res.headersSent ? res.statusCode : undefined;
  const error = failure?.error;
  observer?.requestEnded(operation, status, error, milliseconds);
  // The status does not show it: a stream can break off after its 200.
  const isFailure = error !== undefined && error >= 50_000;
  if (!isFailure && !log.isLevelEnabled('info')) return;
  const trace = TRACEPARENT.exec(`${req.headers.traceparent}`);
  const members = {
    requestId,
    traceId: trace?.[1],
    spanId: trace?.[2],
    operation,
    who: access?.who,
    clientId: access?.clientId,
    method: req.method,
    path: pathOf(req.url ?? ''),
    status,
    error,
    durationMs: Math.round(milliseconds * 1000) / 1000,
    // A chunked body declares no length.
    bytesIn: lengthOf(req.headers['content-length']),
    bytesOut: lengthOf(res.getHeader('Content-Length')),
    aborted: res.writableFinished ? undefined : true,
  };
  if (!isFailure) log.info(members, 'request');
  // A defect is an error; a temporary failure is a warning, with its cause's stack only: formatting its own stack
  // would take longer than everything else about refusing a request under overload.
  else if (error < 50_100) log.error({ ...members, err: failure?.thrown }, 'request');
  else log.warn({ ...members, ...causeOf(failure?.thrown) }, 'request');
}

const lengthOf = (header: unknown) => (header === undefined ? undefined : Number(header));

function causeOf(thrown: unknown): { readonly reason?: string; readonly err?: unknown } {
  return thrown instanceof Error ? { reason: thrown.message, err: thrown.cause } : {};
}

/** The path without the query, the fragment, and the user and password of an absolute target. */
function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : (URL.parse(target)?.pathname ?? '');
  const end = path.search(/[?#]/);
  return end < 0 ? path : path.slice(0, end);
}
