import { expect, test } from '@jest/globals';
import { staticTokens } from '../../../src/adapters/auth/static-tokens.ts';
import { errorKinds } from '../../../src/adapters/http/errors.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { get, post, refusalOf, startApiServer, TOKEN } from '../../support/api-server.ts';
import { fakePlants } from '../../support/fake-plants.ts';
import { type RawResponse, responsesIn } from '../../support/http-bytes.ts';
import { forAllTests } from '../../support/lifetimes.ts';
import { rawRequest } from '../../support/raw-request.ts';

/* Every row of the error table, over HTTP. More of what no client but a hostile one sends: test/hostile/attacks.ts. */

const BYTES_MAX = 64 * 1024;
const READER = 'a-token-that-reads';
const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`;
const JSON_TYPE = 'Content-Type: application/json';
const PLANT = '{"id":1,"name":"Monstera"}';
const TOO_LARGE = PLANT.padEnd(BYTES_MAX + 1);

const stored = new Map<bigint, NewPlant | 'deleted'>([[2n, { id: 2n, name: 'Ficus' }]]).set(3n, 'deleted');
const verifyToken = staticTokens({ full: [{ token: TOKEN }], reading: [{ token: READER }] });
const server = forAllTests(() => startApiServer({ plants: fakePlants(stored), verifyToken }));

/** Holds an answer against what every error answer must be, and against this error number. */
async function expectError(answer: Response, error: number, message = /./): Promise<void> {
  expect(await answer.json()).toEqual({ error, message: expect.stringMatching(message) });
  expect(answer.status).toBe(Math.floor(error / 100));
  const { server, 'x-powered-by': poweredBy, ...headers } = Object.fromEntries(answer.headers);
  expect([server, poweredBy]).toEqual([undefined, undefined]);
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'x-request-id': expect.stringMatching(/./),
  });
  const challenges: Record<number, string> = { 40101: 'invalid_token', 40300: 'insufficient_scope' };
  const challenge = challenges[error] ? `Bearer error="${challenges[error]}"` : error === 40100 ? 'Bearer' : undefined;
  expect(headers['www-authenticate']).toBe(challenge);
  expect(headers['retry-after']).toBe(error === 50300 ? '1' : undefined);
}

/** Sends bytes as they are, and reads the one answer until the server closes. */
async function responseTo(bytes: string, { url } = server): Promise<Response> {
  const { status, headers, body } = responsesIn(Buffer.from(await rawRequest(url, bytes)))[0] as RawResponse;
  return new Response(body, { status, headers: [...headers] });
}
const raw = (head: readonly string[], body = '') => responseTo(`${head.join('\r\n')}\r\n\r\n${body}`);

const to = (target: string, ...lines: string[]) => [`${target} HTTP/1.1`, 'Connection: close', ...lines];
const head = (...lines: string[]) => to('POST /plants', 'Host: localhost', ...lines);
const expecting = (...lines: string[]) => head(...lines, 'Expect: 100-continue');
const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const CHUNKED = head(AUTHORIZATION, JSON_TYPE, 'Transfer-Encoding: chunked');

/** A request with TOKEN to a service of its own. */
async function on(options: Parameters<typeof startApiServer>[0], path = '/plants/1'): Promise<Response> {
  return get((await startApiServer(options)).url, path);
}
const onFailing = (code: PlantStoreError['code']) =>
  on({ plants: { find: () => Promise.reject(new PlantStoreError(code, 'a reason')) } });

async function slowly(bytes: string): Promise<Response> {
  const limits = { headersTimeout: 50, requestTimeout: 100, connectionsCheckingInterval: 10 };
  return responseTo(bytes, await startApiServer({ limits }));
}

type Row = readonly [error: number, what: string, request: () => Promise<Response>, message?: RegExp | undefined];

function body(error: number, what: string, sent: BodyInit | null, message?: RegExp): Row {
  return [error, what, () => post(server.url, sent), message];
}
function sent(error: number, what: string, lines: readonly string[], body = '', message?: RegExp): Row {
  return [error, what, () => raw(lines, body), message];
}
/** Refused before the body is read, which does not come. Nothing of what was sent comes back. */
function credentials(error: number, value: string): Row {
  const lines = head(`Authorization: ${value}`, JSON_TYPE, 'Content-Length: 9');
  const message = /a token is a secret text that those who run this service give out.{0,50}$/;
  return sent(error, `credentials: ${value.slice(0, 50)}`, lines, '', message);
}
const latin1 = (text: string) => Buffer.from(text, 'latin1');
const members = (members: string) => `{"id":4,"name":"x",${members}}`;
const NAME = /^name must be a string of at most 1000 characters without U\+0000/;
const TAG = /^tag must be a string of at most 200 characters without U\+0000.* or omitted$/;
const ID = /^id must be an integer from -9223372036854775808 to /;
const NO_OBJECT = /^the body must be an object with an id, a name/;
const NO_ID = /^id is missing: it must be an integer from -9/;
const NO_NAME = /^name is missing: it must be a string of at most/;

const TARGETS = ['http://[/plants', 'http://%@x/plants/1', 'plants'];

const rows: readonly Row[] = [
  body(40000, 'no body', null),
  body(40000, 'an empty body', ''),
  body(40000, 'two values', `${PLANT}${PLANT}`),
  body(40000, 'a byte that is not UTF-8', latin1('{"id":1,"name":"\xff"}')),
  body(40000, 'a surrogate in UTF-8', latin1('{"id":1,"name":"\xed\xa0\x80"}')),
  sent(40001, 'no Host', to('POST /plants')),
  sent(40001, 'a second Host behind many headers', head(...Array<string>(190).fill('a:'), 'Host: b')),
  sent(40001, 'no HTTP', ['GARBAGE']),
  sent(40001, 'two lengths', head(AUTHORIZATION, JSON_TYPE, 'Content-Length: 5', 'Content-Length: 6')),
  sent(40001, 'a length beside chunks', head(JSON_TYPE, 'Content-Length: 5', 'Transfer-Encoding: chunked')),
  sent(
    40001,
    'a coding beside chunks',
    head(AUTHORIZATION, JSON_TYPE, 'Transfer-Encoding: gzip, chunked'),
    chunked(PLANT),
  ),
  sent(
    40001,
    'chunks over HTTP/1.0',
    ['POST /plants HTTP/1.0', JSON_TYPE, 'Transfer-Encoding: chunked'],
    chunked(PLANT),
  ),
  sent(40001, 'a Host with a path', to('POST /plants', 'Host: a/b')),
  sent(40001, 'two Authorizations, of which one is empty', head('authorization:', AUTHORIZATION)),
  ...TARGETS.map((target) => sent(40001, `the request target ${target}`, to(`POST ${target}`, 'Host: localhost'))),
  body(40009, 'an id of another plant', '{"id":2,"name":"x"}'),
  body(40010, 'an id of a deleted plant', '{"id":3,"name":"x"}'),
  sent(40013, 'too large a body, unread', head(AUTHORIZATION, JSON_TYPE, `Content-Length: ${BYTES_MAX + 1}`)),
  [40013, 'too large a chunked body', () => raw(CHUNKED, chunked(TOO_LARGE)), /65536 bytes/],
  [40015, 'another content type', () => post(server.url, PLANT, { 'Content-Type': 'text/plain' })],
  sent(40015, 'no content type', head(AUTHORIZATION, 'Content-Length: 26'), PLANT),
  sent(40015, 'two content types, both right', head(AUTHORIZATION, JSON_TYPE, JSON_TYPE, 'Content-Length: 26'), PLANT),
  [40015, 'a content encoding', () => post(server.url, PLANT, { 'Content-Encoding': 'identity' })],
  ...['[]', 'null', '"x"', `[${PLANT}]`].map((value) => body(40022, value, value, NO_OBJECT)),
  ...['{"name":"x"}', '{"name":"x","ID":1}', '{"name":"x","y":{"id":1}}'].map((text) => body(40022, text, text, NO_ID)),
  ...['{"id":4}', '{"id":4,"__proto__":{"name":"x"}}'].map((text) => body(40022, text, text, NO_NAME)),
  // Which numbers are no id: formats/exact-json.
  ...['"1"', '9223372036854775808'].map((id) => body(40022, `the id ${id}`, members(`"id":${id}`), ID)),
  ...['1', '"a\\u0000b"'].map((name) => body(40022, `the name ${name}`, members(`"name":${name}`), NAME)),
  ...['null', '"\\ud800x"'].map((tag) => body(40022, `the tag ${tag}`, members(`"tag":${tag}`), TAG)),
  [40100, 'no credentials', () => fetch(`${server.url}/plants`)],
  ...['', 'Basic dXNlcjpwYXNz', 'Bearer ', TOKEN, `Bearer${TOKEN}`].map((value) => credentials(40100, value)),
  ...[`${TOKEN}x`, TOKEN.slice(0, -1), `${TOKEN}, Bearer ${TOKEN}`, 'x'.repeat(16_000)].map((token) =>
    credentials(40101, `Bearer ${token}`),
  ),
  [40101, 'a bad token with a bad body', () => post(server.url, TOO_LARGE, { Authorization: 'Bearer x' })],
  // To none of these, 100 Continue.
  sent(40101, 'a bad token, expecting', expecting('Authorization: Bearer wrong', JSON_TYPE, 'Content-Length: 26')),
  sent(40015, 'another type, expecting', expecting(AUTHORIZATION, 'Content-Type: text/plain', 'Content-Length: 26')),
  sent(40013, 'too large a body, expecting', expecting(AUTHORIZATION, JSON_TYPE, `Content-Length: ${BYTES_MAX + 1}`)),
  [40300, 'a token that may not', () => post(server.url, PLANT, { Authorization: `Bearer ${READER}` })],
  [40400, 'no such path', () => fetch(server.url, { method: 'POST' })],
  [40401, 'no such plant', () => get(server.url, '/plants/7')],
  [40500, 'another method', () => fetch(`${server.url}/plants`, { method: 'PATCH' })],
  [40600, 'another Accept', () => get(server.url, '/plants/2', { Accept: 'text/html' })],
  [40800, 'slow headers', () => slowly(to('POST /plants').join('\r\n'))],
  [40800, 'a slow body', () => slowly([...head(AUTHORIZATION, JSON_TYPE, 'Content-Length: 26'), '', '{'].join('\r\n'))],
  [41000, 'a deleted plant', () => get(server.url, '/plants/3')],
  [41001, 'a position that is no longer valid', () => onFailing('cursor_expired')],
  [41200, 'an If-Match of another state', () => get(server.url, '/plants/2', { 'If-Match': '"x"' }, 'DELETE')],
  sent(41700, 'another expectation', head(AUTHORIZATION, JSON_TYPE, 'Content-Length: 2', 'Expect: foo')),
  sent(43100, 'a header of 32 KiB', head(`X-Large: ${'x'.repeat(32 * 1024)}`)),
  [50100, 'no feed', () => onFailing('changes_unavailable')],
  [50300, 'no store', () => onFailing('store_unavailable'), /^a reason; sending the same request again is safe$/],
  [50300, 'too many requests', () => on({ maxRequests: 0 })],
  [50300, 'too many followers', () => on({ maxFollowers: 0 }, '/changes')],
];

test.each(rows)('answers %i to %s', async (...[error, , request, message]) => {
  await expectError(await request(), error, message);
});

test('answers arrays deep within each other beside several ids', async () => {
  const deep = `${'['.repeat(3_900)}${']'.repeat(3_900)}`;
  const answer = await post(server.url, `{"id":22,"name":"x","id":22,"y":${deep}}`);
  await expectError(answer, 40000, /^the body must not be nested so deep$/);
});

test.each([
  ['{id:1,name:"x"}', 'character 2: names need double quotes'],
  [`{"id":1,'name':"x"}`, 'character 9: names need double quotes'],
  ['{"\\u0069d":1 "name":"x"}', 'character 14'],
  ['{"id":1,"name":"x"', 'character 19'],
  ['{"id":1,"name":"a","x\\q":1}', 'character 23'],
])('says where %s is no JSON', async (body, where) => {
  const message = `the body must be valid JSON; the error is at ${where}`;
  expect(await (await post(server.url, body)).json()).toEqual({ error: 40000, message });
});

test('answers 43100 to more than 200 headers, and looks at all of so many', async () => {
  const headers = (count: number) => head(...Array.from({ length: count }, (_, index) => `X-${index}: x`));
  await expectError(await raw(headers(200)), 43100);
  expect((await post(server.url, PLANT, { 'X-Large': 'x'.repeat(15 * 1024) })).status).toBe(200);
  // With Host and Connection.
  await expectError(await raw(headers(198)), 40100);
});

test('keeps the details of a defect to the log, under the request id', async () => {
  const add = () => Promise.reject(new Error('the secret detail'));
  const { url, close, lines } = await startApiServer({ plants: { add } });
  const answer = await post(url, PLANT);
  await close(0);
  expect(lines).toEqual([expect.stringContaining('the secret detail')]);
  expect(JSON.parse(lines.join())).toMatchObject({ level: 50, requestId: answer.headers.get('X-Request-Id') });
  await expectError(answer, 50000, /^unexpected error; .* X-Request-Id$/);
});

test('every number has a row', () => {
  const tested = new Set([...rows.map(([error]) => error), 50000]);
  expect(tested).toEqual(new Set(Object.values(errorKinds).map(({ error }) => error)));
});

test('takes what is no error', async () => {
  expect((await post(server.url, `\uFEFF${PLANT}`)).status).toBe(200);
  expect((await post(server.url, PLANT.padEnd(BYTES_MAX))).status).toBe(200);
  const types = ['Application/JSON', 'application/json;charset="utf-8"', 'application/json ; charset=UTF-8; charset=x'];
  for (const type of types) expect((await post(server.url, PLANT, { 'Content-Type': type })).status).toBe(200);
  expect((await post(server.url, PLANT, { Authorization: `bEARER ${TOKEN}` })).status).toBe(200);
  // A sign-in in front of the service sets large ones.
  expect((await post(server.url, PLANT, { Cookie: `session=${'x'.repeat(31 * 1024)}` })).status).toBe(200);
});

const OTHER_PATHS = ['/', '/plants/', '/Plants', '/plants/1/2', '/plants%2F', '/openapi.json/'];

test('says, without a token, how paths are written and what describes the API', async () => {
  const plants = 'without a slash at the end; the plants are at /plants, and /docs describes the API';
  for (const path of [...OTHER_PATHS, `/${'plants'.repeat(2_000)}`]) {
    expect(await refusalOf(await fetch(server.url + path))).toEqual([404, 40400, expect.stringContaining(plants)]);
  }
  const { url } = await startApiServer({ pages: false });
  expect((await refusalOf(await fetch(url)))[2]).toContain('and /openapi.json describes the API');
});
