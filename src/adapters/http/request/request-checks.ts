import { HttpError } from '../http-errors.ts';
import type { ExchangeContext } from './undocumented-koa.ts';

/** Far more than real clients send, and few enough to check quickly. */
export const MAX_HEADERS = 200;

/** Refuses what Node would refuse with an empty response (server.ts turns that off) and targets that break ctx.path. */
export function refuseMalformed(ctx: ExchangeContext): void {
  const { headers, httpVersion, rawHeaders } = ctx.req;
  if (rawHeaders.length > 2 * MAX_HEADERS) throw new HttpError('headers_too_large');
  if (httpVersion !== '1.0' || headers.host !== undefined) checkHost(headers.host);
  // A proxy in front may have checked a different one. The comma is tested first, since counting costs more.
  if (headers.authorization?.includes(', ') && (ctx.req.headersDistinct.authorization ?? []).length > 1) {
    throw new HttpError('malformed_request', 'the request must not have more than one Authorization header');
  }
  if (headers['transfer-encoding'] !== undefined) checkTransferEncoding(headers['transfer-encoding'], httpVersion);
  if (!hasValidTarget(ctx)) {
    throw new HttpError('malformed_request', 'the request target must be a path or a URL, without a fragment');
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new HttpError('expectation_failed');
  }
}

/** RFC 3986 section 3.2.2 and 3.2.3: a name or an address, and a port. */
const HOST = /^(?:[\w\-.~!$&'()*+,;=%]*|\[[\da-fA-F:.]+\])(?::\d*)?$/;

/** RFC 9112 section 3.2: exactly one valid Host. Node joins several into one value with a space in it (server.ts). */
function checkHost(host: string | undefined): void {
  if (host !== undefined && HOST.test(host)) return;
  throw new HttpError('malformed_request', 'the request must have one valid Host header');
}

/** RFC 9112 section 6.1: a message of HTTP/1.0 that has one is framed wrongly, so nothing behind it can be trusted. */
function checkTransferEncoding(encoding: string, httpVersion: string): void {
  if (httpVersion === '1.0') {
    const message = 'HTTP/1.0 has no Transfer-Encoding: send a Content-Length, or use HTTP/1.1';
    throw new HttpError('malformed_request', message, { Connection: 'close' });
  }
  if (encoding.toLowerCase() === 'chunked') return;
  throw new HttpError('malformed_request', 'Transfer-Encoding may only be chunked');
}

/**
 * A path or a URL. RFC 9112 section 3.2: clients do not send fragments; the router would ignore one. Koa reads the target
 * by url.parse, which fails at some URLs, such as `http://%@x/`.
 */
function hasValidTarget(ctx: ExchangeContext): boolean {
  const { url = '' } = ctx.req;
  if (url.includes('#') || (!url.startsWith('/') && url !== '*' && !URL.canParse(url))) return false;
  try {
    return ctx.path !== undefined;
  } catch {
    return false;
  }
}
