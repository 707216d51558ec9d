import type { IncomingMessage } from 'node:http';
import { HttpError } from './errors.ts';

/** Far more than real clients send, and few enough to check quickly. */
export const MAX_HEADERS = 200;

/** Refuses what Node would refuse with an empty response (server.ts turns that off) and targets that break ctx.path. */
export function refuseMalformed(request: IncomingMessage): void {
  const { headers, httpVersion, rawHeaders, url = '' } = request;
  if (rawHeaders.length > 2 * MAX_HEADERS) throw new HttpError('headers_too_large');
  if (httpVersion !== '1.0' || headers.host !== undefined) checkHost(headers.host);
  // A proxy in front may have checked a different one. The comma is tested first, since counting costs more.
  if (headers.authorization?.includes(', ') && (request.headersDistinct.authorization ?? []).length > 1) {
    throw new HttpError('malformed_request', 'the request must not have more than one Authorization header');
  }
  if (headers['transfer-encoding'] !== undefined && headers['transfer-encoding'].toLowerCase() !== 'chunked') {
    throw new HttpError('malformed_request', 'Transfer-Encoding may only be chunked');
  }
  // RFC 9112 section 3.2: clients do not send fragments. The router would ignore one.
  if (url.includes('#') || (!url.startsWith('/') && url !== '*' && !URL.canParse(url))) {
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
