import { randomUUID } from 'node:crypto';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { type Exchange, exchangeOf } from '../exchange.ts';
import type { RequestObserver } from './request-observer.ts';
import { traceOf } from './trace-context.ts';

/** A client's own request id is kept if it is short and safe in a log and a header. */
const VALID_ID = /^[\w.-]{1,64}$/;

/**
 * Gives each request an id, returns it as X-Request-Id, and logs one line when the exchange ends. Query strings, other
 * headers and bodies are never logged: they may hold secrets.
 *
 * @param observer notified of each exchange as well
 */
export function requestLog(log: Logger, observer?: RequestObserver): Middleware {
  return (ctx, next) => {
    const start = performance.now();
    const requestId = validId(ctx.req.headers['x-request-id']) ?? randomUUID();
    ctx.res.setHeader('X-Request-Id', requestId);
    ctx.res.once('close', () => {
      const { status, res } = ctx;
      const { operation, failure } = exchangeOf(ctx.req);
      const milliseconds = performance.now() - start;
      // Koa's default status is not a response.
      const sentStatus = res.headersSent ? status : undefined;
      observer?.requestEnded(operation, sentStatus, failure?.error, milliseconds);
      const line = {
        requestId,
        ...traceOf(ctx.req.headers.traceparent),
        operation,
        method: ctx.method,
        path: pathOf(ctx.req.url ?? ''),
        status: sentStatus,
        error: failure?.error,
        durationMs: Math.round(milliseconds * 1000) / 1000,
        bytesIn: bytesOf(ctx.req.headers['content-length']),
        bytesOut: bytesOf(res.getHeader('Content-Length')),
        aborted: res.writableFinished ? undefined : true,
        ...errorDetails(failure),
      };
      log[levelOf(failure)](line, 'request');
    });
    return next();
  };
}

/** The declared length of a body; a chunked one has none. */
function bytesOf(contentLength: unknown): number | undefined {
  return contentLength === undefined ? undefined : Number(contentLength);
}

function validId(offered: string | string[] | undefined): string | undefined {
  return typeof offered === 'string' && VALID_ID.test(offered) ? offered : undefined;
}

/** Without the query, the fragment, and the user and password of an absolute target. */
function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : (URL.parse(target)?.pathname ?? '');
  return /^[^?#]*/.exec(path)?.[0] ?? '';
}

/**
 * The details of a 5xx for operators. An expected one has its cause's stack only: formatting its own, which says
 * nothing, would take longer than everything else about refusing a request under overload.
 */
function errorDetails(failure: Exchange['failure']): { readonly err?: unknown; readonly reason?: string } {
  const level = levelOf(failure);
  if (level === 'error') return { err: failure?.thrown };
  if (level === 'info' || !(failure?.thrown instanceof Error)) return {};
  return { reason: failure.thrown.message, err: failure.thrown.cause };
}

/** A defect is an error; a temporary failure is a warning. Not by the status: a stream can break off after its 200. */
function levelOf(failure: Exchange['failure']): 'info' | 'warn' | 'error' {
  if (failure === undefined || failure.error < 50_000) return 'info';
  return failure.error < 50_100 ? 'error' : 'warn';
}
