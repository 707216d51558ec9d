import { type Logger, pino } from 'pino';
import type { Exchange } from '../exchange.ts';
import type { RequestObserver } from './request-observer.ts';
import { traceOf } from './trace-context.ts';

type Level = 'info' | 'warn' | 'error';

/** Where pino keeps the members that a child logger adds to all of its lines, as JSON; each begins with a comma. */
const { chindingsSym: bindings } = pino.symbols;

/**
 * Logs one line for each exchange that has ended. Query strings, headers other than those below and bodies are never
 * logged: they may hold secrets.
 *
 * @param observer notified of each exchange as well
 */
export function requestLog(log: Logger, observer?: RequestObserver): (exchange: Exchange) => void {
  // For each member of an object, pino looks for a serializer and a stringifier, which takes a thirtieth of the CPU time
  // of a create. So the members of a line are set, as JSON, in place of the child's own.
  const line = log.child({}) as Logger & { [bindings]: string };
  const common = line[bindings];
  return (exchange) => {
    const { request, response, start, requestId, operation, failure, bytesOut } = exchange;
    const milliseconds = performance.now() - start;
    // Before it is sent, the response has Node's default status.
    const status = response.headersSent ? response.statusCode : undefined;
    observer?.requestEnded(operation, status, failure?.error, milliseconds);
    const level = levelOf(failure);
    if (!line.isLevelEnabled(level)) return;
    const trace = traceOf(request.headers.traceparent);
    line[bindings] =
      common +
      member('requestId', requestId) +
      member('traceId', trace?.traceId) +
      member('spanId', trace?.spanId) +
      member('operation', operation) +
      member('method', request.method) +
      member('path', pathOf(request.url ?? '')) +
      member('status', status) +
      member('error', failure?.error) +
      member('durationMs', Math.round(milliseconds * 1000) / 1000) +
      member('bytesIn', bytesOf(request.headers['content-length'])) +
      member('bytesOut', bytesOut) +
      member('aborted', response.writableFinished ? undefined : true);
    line[level](errorDetails(level, failure), 'request');
  };
}

/** Nothing if the value is undefined. */
function member(name: string, value: string | number | boolean | undefined): string {
  return value === undefined ? '' : `,"${name}":${typeof value === 'string' ? JSON.stringify(value) : value}`;
}

/** The declared length of a body; a chunked one has none. */
function bytesOf(contentLength: unknown): number | undefined {
  return contentLength === undefined ? undefined : Number(contentLength);
}

/** Without the query, the fragment, and the user and password of an absolute target. */
function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : (URL.parse(target)?.pathname ?? '');
  const end = path.search(/[?#]/);
  return end < 0 ? path : path.slice(0, end);
}

/**
 * The details of a 5xx for operators. An expected one has its cause's stack only: formatting its own, which says
 * nothing, would take longer than everything else about refusing a request under overload.
 */
function errorDetails(
  level: Level,
  failure: Exchange['failure'],
): { readonly reason?: string; readonly err?: unknown } {
  if (level === 'error') return { err: failure?.thrown };
  if (level === 'info' || !(failure?.thrown instanceof Error)) return {};
  return { reason: failure.thrown.message, err: failure.thrown.cause };
}

/** A defect is an error; a temporary failure is a warning. Not by the status: a stream can break off after its 200. */
function levelOf(failure: Exchange['failure']): Level {
  if (failure === undefined || failure.error < 50_000) return 'info';
  return failure.error < 50_100 ? 'error' : 'warn';
}
