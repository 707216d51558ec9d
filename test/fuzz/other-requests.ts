import fc, { type Arbitrary } from 'fast-check';
import { httpRequest, mutation, type Request, type Schema, spoiltBody, spoiltBy, validBody } from './requests.ts';

/* Requests to the operations that create nothing: with ids, parameters, headers and bodies that are right or wrong. */

const ids = fc.oneof(
  { weight: 4, arbitrary: fc.bigInt({ min: 0n, max: 9n }).map(String) },
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.constantFrom('', ' 1', ...'01 +1 -0 1.0 1e3 9223372036854775808 %31 1/2 x .. %00 %FF'.split(' ')),
);
const path = fc.oneof(
  { weight: 4, arbitrary: ids.map((id) => `/plants/${id}`) },
  { weight: 2, arbitrary: fc.constantFrom('/plants', '/plants/count', '/tags', '/changes') },
  { weight: 1, arbitrary: fc.constantFrom('/plants/', '/PLANTS', '/changes/1', '/', '*') },
);
const value = fc.oneof(
  ids,
  fc.string({ unit: 'grapheme', maxLength: 9 }).map((text) => encodeURIComponent(text.toWellFormed())),
  fc.constantFrom('1', '100', '1000', '100000', '0', '-1', '%FF', '%', '+', '%EF%BB%BF', 'MDowOjA6MDow'),
);
const parameter = fc
  .tuple(fc.constantFrom('limit', 'after', 'tag', 'name', 'wait', 'Limit', '', 'x', '%FF'), value)
  // Nobody waits here.
  .map(([name, text]) => (name === 'wait' && /^[1-9]\d?$/.test(text) ? 'wait=0' : `${name}=${text}`));
const query = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  { weight: 2, arbitrary: fc.array(parameter, { minLength: 1, maxLength: 3 }).map((all) => `?${all.join('&')}`) },
);
const header = fc.oneof(
  fc.constantFrom('application/json', 'application/x-ndjson', 'text/html', '*/*;q=0', ',;=').map((a) => `Accept: ${a}`),
  fc.constantFrom('*', '"x", "y"', 'W/"x"', ',').map((tags) => `If-Match: ${tags}`),
  fc.constantFrom('*', '"x"').map((tags) => `If-None-Match: ${tags}`),
);

/** @param schema of the body that changes a plant */
export function otherRequests(schema: Schema, token: string): Arbitrary<Request> {
  const body = fc.oneof({ weight: 3, arbitrary: validBody(schema) }, { weight: 1, arbitrary: spoiltBody(schema) });
  return fc
    .record({
      method: fc.constantFrom('GET', 'GET', 'HEAD', 'PUT', 'PUT', 'DELETE', 'DELETE', 'PATCH'),
      target: fc.tuple(path, query).map((parts) => parts.join('')),
      headers: fc.array(header, { maxLength: 2 }),
      body,
      mutations: fc.oneof(
        { weight: 2, arbitrary: fc.array(mutation, { maxLength: 0 }) },
        { weight: 1, arbitrary: fc.array(mutation, { maxLength: 2 }) },
      ),
    })
    .map(({ method, target, headers, body, mutations }) => {
      const type = 'application/json';
      const bytes = httpRequest({ method, path: target, token, type, headers, body: Buffer.from(body), pieces: null });
      return spoiltBy(bytes, mutations);
    });
}
