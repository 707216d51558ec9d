import type { IncomingMessage } from 'node:http';
import bodyParser from 'koa-bodyparser';
import { PlantStoreError } from '../../../domain/errors.ts';
import { HttpError } from '../errors.ts';
import type { RequestContext } from './state.ts';

const EMPTY = Buffer.alloc(0);

/** How the body of an operation is read. */
interface BodyReader {
  /** The declared size in bytes, or else the limit. @throws HttpError `body_too_large`, PlantStoreError `malformed_json` */
  readonly sizeOf: (request: IncomingMessage) => number;
  /** A promise only if the body has yet to come. @throws HttpError, or PlantStoreError `malformed_json` */
  readonly read: (ctx: RequestContext) => Buffer | Promise<Buffer>;
}

/**
 * Reads the body of a request, whatever its media type, as the bytes that were sent.
 *
 * @param limit of a body, in bytes; 0 for operations that take no body and ignore one that is sent
 */
export function bodyReader(limit: number): BodyReader {
  if (limit === 0) return { sizeOf: () => 0, read: () => EMPTY };
  // In text mode without an encoding, koa-bodyparser returns the bytes. Its JSON mode parses before UTF-8 can be
  // checked, loses digits of an int64, and treats an empty body as {}. Its types leave out `encoding`.
  const textMode = { enableTypes: ['text'], extendTypes: { text: ['*/*'] }, textLimit: `${limit}b`, encoding: null };
  const parse = bodyParser(textMode);
  const tooLarge = () => new HttpError('body_too_large', `the body must not be larger than ${limit} bytes`);

  function sizeOf({ headers }: IncomingMessage): number {
    const size = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : limit;
    if (size === 0) throw new PlantStoreError('malformed_json', 'a body is required');
    if (size > limit) throw tooLarge();
    return size;
  }

  async function parsed(ctx: RequestContext): Promise<Buffer> {
    const { req: request, res: response } = ctx;
    if (ctx.state.unreadable !== undefined) throw ctx.state.unreadable;
    if (request.headers.expect !== undefined) response.writeContinue();
    try {
      await parse(ctx, async () => {});
    } catch (error) {
      // The server has found that the body is malformed or too slow.
      if (error instanceof HttpError) throw error;
      // raw-body leaves the remaining body unread, and Node would wait for it before the next request.
      request.resume();
      throw (error as { type?: unknown }).type === 'entity.too.large'
        ? tooLarge()
        : new PlantStoreError(
            'malformed_json',
            'the body must be as long as its Content-Length says, and its chunks well-formed',
          );
    }
    const { body } = ctx.request;
    // koa-bodyparser reads the parameters of a media type more strictly than others do.
    if (!Buffer.isBuffer(body)) throw new HttpError('unsupported_media_type', 'Content-Type must be well-formed');
    return body;
  }

  return { sizeOf, read: (ctx) => arrived(ctx.req) ?? parsed(ctx) };
}

/**
 * Returns the body if its size is declared and all of it is here: a small body often comes in one packet with its headers.
 * That needs no promise, no listeners and no copy: a sixth of what a create allocates.
 */
function arrived(request: IncomingMessage): Buffer | undefined {
  const { 'content-length': length, expect } = request.headers;
  // Without 100 Continue, which only `parsed` sends, Node would close the connection of a client that expects it.
  if (request.readableLength !== Number(length) || expect !== undefined) return undefined;
  const body = request.read();
  // The end of the stream is still to come; unread, it would keep the request in memory while the connection is idle.
  request.resume();
  return body;
}
