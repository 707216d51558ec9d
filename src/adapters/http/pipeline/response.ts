import { pipeline, Readable } from 'node:stream';
import type { Context } from 'koa';
import { exchangeOf } from '../exchange.ts';

/** A response, ready to be sent. */
export interface HttpResponse {
  readonly status: number;
  /** Those that differ from the common ones. */
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body, or its parts if it is streamed; undefined if it has none. */
  readonly body: string | Buffer | AsyncIterable<string> | undefined;
}

/** The headers of every response, unless it has its own; no Content-Type if there is no content. */
export const commonHeaders = {
  'Content-Type': 'application/json',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
} as const;

const { 'Content-Type': _, ...headersWithoutBody } = commonHeaders;

/**
 * Sends a response. Its headers are written in one go, together with those that middleware has set: Koa's own way, one
 * by one and each looked up again, costs a twentieth of a create.
 */
export function respond(ctx: Context, { status, headers, body }: HttpResponse): void {
  const { req, res } = ctx;
  // The client has left, or the response is to what followed the request (parser-refusals.ts).
  if (!ctx.writable) {
    // For the log. It is ignored if that response has been sent.
    ctx.status = status;
    res.end();
    return;
  }
  const exchange = exchangeOf(req);
  const common = status === 204 || status === 304 ? headersWithoutBody : commonHeaders;
  const head: Record<string, string | number> = { 'X-Request-Id': exchange.requestId, ...common, ...headers };
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    exchange.bytesOut = Buffer.byteLength(body);
    head['Content-Length'] = exchange.bytesOut;
    res.writeHead(status, head).end(body);
    return;
  }
  res.writeHead(status, head);
  if (body === undefined || req.method === 'HEAD') res.end();
  else stream(ctx, body);
}

function stream(ctx: Context, parts: AsyncIterable<string>): void {
  // One part at a time, so that a client that reads slowly holds no more than that.
  const body = Readable.from(parts, { highWaterMark: 1 });
  // Why it broke off. The callback of pipeline comes too late: the response has closed by then, and is in the log.
  body.once('error', (error: NodeJS.ErrnoException) => {
    if (!DISCONNECTED.has(error.code ?? '')) ctx.app.emit('error', error, ctx);
  });
  pipeline(body, ctx.res, () => {});
}

/** Errors that say only that the connection has closed, which the request log shows as `aborted`. */
const DISCONNECTED = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE']);
