import fc, { type Arbitrary } from 'fast-check';
import { requestHead } from '../support/http-bytes.ts';
import { int64, writtenInteger, writtenString } from '../support/plants/json-forms.ts';
import { type Meaning, meaningOf } from './meaning.ts';

/* Requests to create plants, from the document's schema: as it says, with something wrong in the body, and with something wrong anywhere. */

/** A JSON Schema as the document has them. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean;
}

export interface Request {
  /** All that is sent on its connection. */
  readonly bytes: Buffer;
  /** What it asks for; undefined if it must be refused, `open` if only the service can tell. */
  readonly meaning: Meaning | undefined | 'open';
  /** Then it may get no answer: what follows a request and is none ends their connection. */
  readonly isSpoilt: boolean;
}

interface Member {
  readonly name: string;
  readonly text: string;
}

export const spoiltBy = (bytes: Buffer, mutations: readonly ((bytes: Buffer) => Buffer)[]): Request => ({
  bytes: mutations.reduce((spoilt, mutate) => mutate(spoilt), bytes),
  meaning: 'open',
  isSpoilt: mutations.length > 0,
});

/** Any request to create a plant. @param schema of its body */
export function requests(schema: Schema, path: string, token: string): Arbitrary<Request> {
  const body = fc.oneof({ weight: 3, arbitrary: validBody(schema) }, { weight: 2, arbitrary: spoiltBody(schema) });
  const wellFormed = fc.record({ body, type, pieces: fc.option(fc.array(fc.integer({ min: 1, max: 40 }))) }).map(
    ({ body, type, pieces }): Request => ({
      bytes: httpRequest({ path, token, type, body: Buffer.from(body), pieces }),
      meaning: meaningOf(Buffer.from(body)),
      isSpoilt: false,
    }),
  );
  const spoilt = fc
    .tuple(wellFormed, fc.array(mutation, { minLength: 1, maxLength: 4 }))
    .map(([{ bytes }, mutations]) => spoiltBy(bytes, mutations));
  return fc.oneof({ weight: 3, arbitrary: wellFormed }, { weight: 2, arbitrary: spoilt });
}

const type = fc.constantFrom('application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"');

/** Few of them, so that some meet each other. */
const ids = fc.oneof({ weight: 2, arbitrary: int64 }, { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 9n }) });
const texts = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), fc.constantFrom('', 'x'));
const storable = texts.filter((text) => text.isWellFormed() && !text.includes('\0'));

function validValue({ type, format }: Schema): Arbitrary<string> {
  if (type === 'integer' && format === 'int64') return ids.chain(writtenInteger);
  if (type === 'string') return storable.chain(writtenString);
  throw new TypeError(`the fuzzer does not know the type ${type} ${format}`);
}

function validMember(schema: Schema, name: string): Arbitrary<Member | undefined> {
  const property = schema.properties?.[name];
  if (property === undefined) throw new TypeError(`the document requires ${name} and does not say what it is`);
  const member = validValue(property).map((text) => ({ name, text }));
  return schema.required?.includes(name) ? member : fc.option(member, { nil: undefined });
}

/** In any order, with a member that the schema does not name if it allows that, and with white space. */
export function validBody(schema: Schema): Arbitrary<string> {
  const names = Object.keys(schema.properties ?? {});
  const isClosed = schema.additionalProperties === false;
  const nothing = fc.constant(undefined);
  const extra = fc
    .tuple(
      fc.string().filter((name) => !names.includes(name)),
      fc.json({ maxDepth: 2 }),
    )
    .map(([name, text]) => ({ name, text }));
  return fc
    .tuple(...names.map((name) => validMember(schema, name)), isClosed ? nothing : fc.option(extra, { nil: undefined }))
    .map((members) => members.filter((member) => member !== undefined))
    .chain((members) => fc.shuffledSubarray(members, { minLength: members.length }))
    .chain((members) => fc.constantFrom('', ' ', '\r\n\t').map((space) => objectText(members, space)));
}

const oddNumbers = '1.5 -0 1e400 1e-400 9223372036854775808 -9223372036854775809 1e18 1E+18 0e9'.split(' ');
const oddTexts = ['"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\ufeff"', '"\\u000a"', 'NaN', "'x'", '01', '+1', ''];
const oddValue = fc.oneof(fc.json({ maxDepth: 2 }), fc.constantFrom(...oddNumbers, ...oddTexts), ids.map(String));

/** Members missing, twice, of other types, or no JSON at all. */
export function spoiltBody(schema: Schema): Arbitrary<string> {
  const names = [...Object.keys(schema.properties ?? {}), 'ID', '__proto__', ''];
  const member = fc.record({
    name: fc.constantFrom(...names),
    text: fc.oneof(oddValue, storable.chain(writtenString)),
  });
  const object = fc.array(member, { maxLength: 5 }).map((members) => objectText(members, ' '));
  return fc.oneof({ weight: 4, arbitrary: object }, { weight: 1, arbitrary: oddValue });
}

function objectText(members: readonly Member[], space: string): string {
  const texts = members.map(({ name, text }) => [JSON.stringify(name), ':', text].join(space));
  return [space, '{', texts.join(`${space},${space}`), '}', space].join('');
}

interface Parts {
  readonly method?: string;
  readonly path: string;
  readonly token: string;
  readonly type: string;
  /** More lines of the head. */
  readonly headers?: readonly string[];
  readonly body: Buffer;
  /** The lengths of its chunks, if it is chunked; what is left makes the last one. */
  readonly pieces: readonly number[] | null;
}

export function httpRequest({ method = 'POST', path, token, type, headers = [], body, pieces }: Parts): Buffer {
  const framing = pieces === null ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked';
  const lines = [`Authorization: Bearer ${token}`, `Content-Type: ${type}`, ...headers, framing];
  const head = requestHead(`${method} ${path}`, lines);
  return Buffer.concat([Buffer.from(head), pieces === null ? body : chunked(body, pieces)]);
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
export const mutation: Arbitrary<(bytes: Buffer) => Buffer> = fc
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
