import fc, { type Arbitrary } from 'fast-check';
import { requestHead } from '../support/http-bytes.ts';
import { int64, writtenInteger, writtenString } from '../support/plants/json-forms.ts';

/* Requests of all operations: right ones, with something wrong in their bodies, and with something wrong anywhere. */

export interface Request {
  /** All that is sent on its connection. */
  readonly bytes: Buffer;
  /** Then it may get no answer: what follows a request and is none ends their connection. */
  readonly isSpoilt: boolean;
}

interface Member {
  readonly name: string;
  readonly text: string;
}

/** Any request. */
export function requests(token: string): Arbitrary<Request> {
  const line = fc.tuple(method, path, query).map(([method, ...target]) => `${method} ${target.join('')}`);
  const start = fc.oneof(fc.tuple(fc.constant('POST /plants'), bodyOf('id')), fc.tuple(line, bodyOf()));
  const headers = fc.tuple(fc.constant(`Authorization: Bearer ${token}`), type, fc.array(header, { maxLength: 2 }));
  const pieces = fc.option(fc.array(fc.integer({ min: 1, max: 40 })));
  const mutations = fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(mutation, { maxLength: 4 }));
  return fc.tuple(start, headers, pieces, mutations).map(([[line, body], headers, pieces, mutations]) => ({
    bytes: mutations.reduce((spoilt, mutate) => mutate(spoilt), httpRequest(line, headers.flat(), body, pieces)),
    isSpoilt: mutations.length > 0,
  }));
}

const method = fc.constantFrom('GET', 'GET', 'HEAD', 'PUT', 'PUT', 'DELETE', 'DELETE', 'PATCH');
const pathIds = fc.oneof(
  { weight: 4, arbitrary: fc.bigInt({ min: 0n, max: 9n }).map(String) },
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.constantFrom('', ' 1', ...'01 +1 -0 1.0 1e3 9223372036854775808 %31 1/2 x .. %00 %FF'.split(' ')),
);
const path = fc.oneof(
  { weight: 4, arbitrary: pathIds.map((id) => `/plants/${id}`) },
  { weight: 2, arbitrary: fc.constantFrom('/plants', '/plants/count', '/tags', '/changes') },
  { weight: 1, arbitrary: fc.constantFrom('/plants/', '/PLANTS', '/changes/1', '/', '*') },
);
const value = fc.oneof(
  pathIds,
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

const type = fc
  .constantFrom('application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"')
  .map((type) => `Content-Type: ${type}`);

/** Few of them, so that some meet each other. */
const ids = fc.oneof({ weight: 2, arbitrary: int64 }, { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 9n }) });
const texts = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), fc.constantFrom('', 'x'));
const storable = texts.filter((text) => text.isWellFormed() && !text.includes('\0'));

/** Of a plant, with these members as well: right in most cases. */
const bodyOf = (...names: readonly string[]) =>
  fc.oneof({ weight: 3, arbitrary: validBody(names) }, { weight: 2, arbitrary: spoiltBody });

/** In any order, with a tag or without, with an unknown member at times, and with white space. */
function validBody(names: readonly string[]): Arbitrary<string> {
  const member = (name: string): Arbitrary<Member> =>
    (name === 'id' ? ids.chain(writtenInteger) : storable.chain(writtenString)).map((text) => ({ name, text }));
  const optional = fc.array(fc.oneof(member('tag'), fc.record({ name: fc.string(), text: fc.json({ maxDepth: 2 }) })), {
    maxLength: 2,
  });
  return fc
    .tuple(fc.tuple(member('name'), ...names.map(member)), optional)
    .map((members) => members.flat())
    .chain((members) => fc.shuffledSubarray(members, { minLength: members.length }))
    .chain((members) => fc.constantFrom('', ' ', '\r\n\t').map((space) => objectText(members, space)));
}

const oddNumbers = '1.5 -0 1e400 1e-400 9223372036854775808 -9223372036854775809 1e18 1E+18 0e9'.split(' ');
const oddTexts = ['"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\ufeff"', '"\\u000a"', 'NaN', "'x'", '01', '+1', ''];
const oddValue = fc.oneof(fc.json({ maxDepth: 2 }), fc.constantFrom(...oddNumbers, ...oddTexts), ids.map(String));

const oddMember = fc.record({
  name: fc.constantFrom('id', 'name', 'tag', 'ID', '__proto__', ''),
  text: fc.oneof(oddValue, storable.chain(writtenString)),
});
/** Members missing, twice, of other types, or no JSON at all. */
const spoiltBody = fc.oneof(
  { weight: 4, arbitrary: fc.array(oddMember, { maxLength: 5 }).map((members) => objectText(members, ' ')) },
  { weight: 1, arbitrary: oddValue },
);

function objectText(members: readonly Member[], space: string): string {
  const texts = members.map(({ name, text }) => [JSON.stringify(name), ':', text].join(space));
  return [space, '{', texts.join(`${space},${space}`), '}', space].join('');
}

/** @param pieces the lengths of its chunks, if it is chunked; what is left makes the last one */
function httpRequest(line: string, headers: readonly string[], body: string, pieces: readonly number[] | null): Buffer {
  const bytes = Buffer.from(body);
  const framing = pieces === null ? `Content-Length: ${bytes.length}` : 'Transfer-Encoding: chunked';
  const head = Buffer.from(requestHead(line, [...headers, framing]));
  return Buffer.concat([head, pieces === null ? bytes : chunked(bytes, pieces)]);
}

function chunked(body: Buffer, pieces: readonly number[]): Buffer {
  const chunks: Buffer[] = [];
  let rest = body;
  for (const size of [...pieces, body.length]) {
    const chunk = rest.subarray(0, size);
    rest = rest.subarray(size);
    if (chunk.length > 0) chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
}

const tokens = [...'\n\0\xff :,"{}%', '\r\n', '\r\n\r\n', 'HTTP/1.0', 'HTTP/2.0', 'GET', 'PUT'];
const lines = ['Content-Length: 5', 'Transfer-Encoding: chunked', 'Host: b', 'Expect: 100-continue', 'Expect: x'];
const more = ['Connection: close', 'Content-Type: text/plain', 'Content-Encoding: gzip', 'Authorization: Bearer x'];
const inserted = fc.oneof(
  fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(...tokens).map((text) => Buffer.from(text, 'latin1')),
  fc.constantFrom(...lines, ...more, 'Upgrade: x').map((line) => Buffer.from(`\r\n${line}`)),
);

/** Puts bytes in, in place of so many others; a part of the request itself at times. */
const mutation: Arbitrary<(bytes: Buffer) => Buffer> = fc
  .record({
    at: fc.nat(9_999).map((tenthousandths) => tenthousandths / 10_000),
    removed: fc.oneof(fc.constant(0), fc.nat(4), fc.nat(400)),
    inserted: fc.oneof(inserted, fc.tuple(fc.nat(300), fc.nat(300))),
  })
  .map(({ at, removed, inserted }) => (bytes) => {
    const index = Math.floor(at * bytes.length);
    const middle = Buffer.isBuffer(inserted) ? inserted : bytes.subarray(inserted[0], inserted[0] + inserted[1]);
    return Buffer.concat([bytes.subarray(0, index), middle, bytes.subarray(index + removed)]);
  });
