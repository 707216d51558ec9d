import { randomUUID } from 'node:crypto';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { exchangeOf } from '../exchange.ts';
import type { RequestObserver } from './request-observer.ts';
import { traceOf } from './trace-context.ts';

/** A caller's own id is kept if it is short and plain enough for a log and a header. */
const SANE_ID = /^[\w.-]{1,64}$/;

/**
 * Gives each request an id, answers it as X-Request-Id, and logs the exchange as one line once it is over. Query
 * strings, other headers and bodies stay out of the log: they may hold secrets.
 *
 * @param observer is told of the same
 */
export function requestLog(log: Logger, observer?: RequestObserver): Middleware {
  return (ctx, next) => {
    const start = performance.now();
    const requestId = saneId(ctx.req.headers['x-request-id']) ?? randomUUID();
    ctx.res.setHeader('X-Request-Id', requestId);
    ctx.res.once('close', () => {
      const { status, res } = ctx;
      const { operation, failure } = exchangeOf(ctx.req);
      const milliseconds = performance.now() - start;
      // Koa's default is no answer.
      const answered = res.headersSent ? status : undefined;
      observer?.answered(operation, answered, failure?.error, milliseconds);
      const line = {
        requestId,
        ...traceOf(ctx.req.headers.traceparent),
        operation,
        method: ctx.method,
        path: pathOf(ctx.req.url ?? ''),
        status: answered,
        error: failure?.error,
        durationMs: Math.round(milliseconds * 1000) / 1000,
        bytesIn: bytesOf(ctx.req.headers['content-length']),
        bytesOut: bytesOf(res.getHeader('Content-Length')),
        aborted: res.writableFinished ? undefined : true,
        ...behind(status, failure?.thrown),
      };
      log[levelOf(status)](line, 'request');
    });
    return next();
  };
}

/** The length of a body as its sender declares it; a chunked one has none. */
function bytesOf(contentLength: unknown): number | undefined {
  return contentLength === undefined ? undefined : Number(contentLength);
}

function saneId(offered: string | string[] | undefined): string | undefined {
  return typeof offered === 'string' && SANE_ID.test(offered) ? offered : undefined;
}

/** Without a query or a fragment, nor the user and password that an absolute target may have. */
function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : (URL.parse(target)?.pathname ?? '');
  return /^[^?#]*/.exec(path)?.[0] ?? '';
}

/**
 * What operators are to know of a 5xx. Of an expected one only the cause's stack: formatting its own, which says nothing,
 * would take longer than all the rest of refusing a request under overload.
 */
function behind(status: number, thrown: unknown): { readonly err?: unknown; readonly reason?: string } {
  if (status === 500) return { err: thrown };
  if (status < 500 || !(thrown instanceof Error)) return {};
  return { reason: thrown.message, err: thrown.cause };
}

/** A defect is an error; what passes by itself is a warning. */
function levelOf(status: number): 'info' | 'warn' | 'error' {
  if (status < 500) return 'info';
  return status === 500 ? 'error' : 'warn';
}
