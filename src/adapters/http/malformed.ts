import type { Middleware } from 'koa';
import { HttpError } from './errors.ts';

/** What Node answers with an empty body unless told to leave it to us (server.ts), and targets that break ctx.path. */
export const refuseMalformed: Middleware = (ctx, next) => {
  const { headers, rawHeaders, httpVersion, url = '' } = ctx.req;
  const { hosts, credentials } = countOf(rawHeaders);
  if (httpVersion !== '1.0' || hosts > 0) checkHost(hosts, headers.host);
  if (credentials > 1) {
    throw new HttpError('malformed_request', 'the request must not have more than one Authorization header');
  }
  if (headers['transfer-encoding'] !== undefined && headers['transfer-encoding'].toLowerCase() !== 'chunked') {
    throw new HttpError('malformed_request', 'Transfer-Encoding may only be chunked');
  }
  if (!url.startsWith('/') && url !== '*' && !URL.canParse(url)) {
    throw new HttpError('malformed_request', 'the request target must be a path or a URL');
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new HttpError('expectation_failed');
  }
  return next();
};

/** RFC 3986 section 3.2.2 and 3.2.3: a name or an address, and a port. */
const HOST = /^(?:[\w\-.~!$&'()*+,;=%]*|\[[\da-fA-F:.]+\])(?::\d*)?$/;

/** RFC 9112 section 3.2: exactly one, and valid. */
function checkHost(hosts: number, host = ''): void {
  if (hosts === 1 && HOST.test(host)) return;
  throw new HttpError('malformed_request', 'the request must have one valid Host header');
}

/** Headers that must not stand twice: what is in front of this service may have gone by another one. */
function countOf(rawHeaders: readonly string[]) {
  let hosts = 0;
  let credentials = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    // The lengths first, since they cost nothing.
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    if (name.length === 13 && name.toLowerCase() === 'authorization') credentials++;
  }
  return { hosts, credentials };
}
