import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Reply } from '../contract/responses.ts';
import { type Exchange, fail } from '../exchange.ts';
import { HttpError } from '../http-errors.ts';
import type { ExchangeContext } from './exchange-context.ts';

/** A response, ready to be sent. */
export interface HttpResponse extends Reply {
  readonly status: number;
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
export function respond(ctx: ExchangeContext, { status, headers, body }: HttpResponse): void {
  const { req, res } = ctx;
  const { exchange } = ctx.state;
  // The HTTP parser has refused the rest of this request, and that error was sent (parser-refusals.ts).
  if (res.headersSent) return;
  const common = status === 204 || status === 304 ? headersWithoutBody : commonHeaders;
  const head: Record<string, string | number> = { 'X-Request-Id': exchange.requestId, ...common, ...headers };
  if (isWhole(body)) {
    exchange.bytesOut = Buffer.byteLength(body);
    head['Content-Length'] = exchange.bytesOut;
    res.writeHead(status, head).end(body);
    return;
  }
  res.writeHead(status, head);
  if (body === undefined || req.method === 'HEAD') res.end();
  // One part at a time: a client that reads slowly holds no more in memory. The log says when one has left.
  else pipeline(Readable.from(noting(body, exchange), { highWaterMark: 1 }), res).catch(() => {});
}

/** Whether it is sent in one go, and not streamed. */
function isWhole(body: Reply['body']): body is string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body);
}

/** Notes why the parts break off while the response is still open, and so not yet in the log. */
async function* noting(parts: AsyncIterable<string>, exchange: Exchange): AsyncIterable<string> {
  try {
    yield* parts;
  } catch (error) {
    // The pipeline ends the parts with this error when the client has left.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') fail(exchange, error);
    throw error;
  }
}

interface ResponseLimits {
  /** Total bytes of the bodies that clients have not read yet. */
  readonly maxBytes: number;
  /** Responses that are streamed at once. */
  readonly maxStreams: number;
}

/** Bytes of a body that is not worth counting: a socket's own buffer is larger. */
const SMALL = 16 * 1024;

/** Bounds the memory that clients occupy by reading their responses slowly. */
export function responseLimits({ maxBytes, maxStreams }: ResponseLimits) {
  let bytes = 0;
  let streams = 0;

  return {
    /** Responses that are being streamed. */
    streams: () => streams,
    /** Counts a body until its response closes. @throws HttpError `overloaded` or `too_many_alike` if that is too much */
    count(response: ServerResponse, body: Reply['body']): void {
      // The client has left: nothing will be sent, and the response may have closed before.
      if (body === undefined || response.req.socket.destroyed) return;
      if (!isWhole(body)) {
        if (streams >= maxStreams) throw new HttpError('too_many_alike');
        streams++;
        response.once('close', () => streams--);
        return;
      }
      const size = Buffer.byteLength(body);
      if (size <= SMALL) return;
      // A single body is always sent, however large.
      if (bytes > 0 && bytes + size > maxBytes) throw new HttpError('overloaded');
      bytes += size;
      response.once('close', () => {
        bytes -= size;
      });
    },
  };
}

export type ResponseCount = ReturnType<typeof responseLimits>['count'];
