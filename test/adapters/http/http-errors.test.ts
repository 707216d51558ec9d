import { describe, expect, test } from '@jest/globals';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { post, refusalOf, startApiServer, TOKEN } from '../../support/api-server.ts';
import { type RawResponse, responsesIn } from '../../support/http-bytes.ts';
import { forAllTests } from '../../support/lifetimes.ts';
import { rawRequest } from '../../support/raw-request.ts';

/* Every row of the error table, over HTTP. */

const LIMIT = 1024 ** 2;
const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`;
const JSON_TYPE = 'Content-Type: application/json';
const PLANT = '{"id":1,"name":"Monstera"}';

const server = forAllTests(() => startApiServer({ bodyLimit: LIMIT, limits: { connectionsCheckingInterval: 10 } }));

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
}

/** Sends a request head and a body as they are, and reads the one answer until the server closes. */
async function raw(head: readonly string[], body = ''): Promise<Response> {
  return parsed(await rawRequest(server.url, `${head.join('\r\n')}\r\n\r\n${body}`));
}

function parsed(answer: string): Response {
  expect(answer).toMatch(/^HTTP\/1\.1 \d{3} \w/);
  const { status, headers, body } = responsesIn(Buffer.from(answer))[0] as RawResponse;
  return new Response(body, { status, headers: [...headers] });
}

const head = (...lines: string[]) => ['POST /plants HTTP/1.1', 'Host: localhost', 'Connection: close', ...lines];

describe('40000', () => {
  test.each<[string, BodyInit | null]>([
    ['no body', null],
    ['an empty body', ''],
    ['half an object', '{"id":1'],
    ['a comma too many', '{"id":1,"name":"x",}'],
    ['single quotes', "{'id':1,'name':'x'}"],
    ['NaN', '{"id":NaN,"name":"x"}'],
    ['a hexadecimal number', '{"id":0x1,"name":"x"}'],
    ['a leading zero', '{"id":01,"name":"x"}'],
    ['two values', `${PLANT}${PLANT}`],
    ['a byte that is not UTF-8', Buffer.from('{"id":1,"name":"\xff"}', 'latin1')],
    ['an overlong encoding', Buffer.from('{"id":1,"name":"\xc0\x80"}', 'latin1')],
    ['a surrogate in UTF-8', Buffer.from('{"id":1,"name":"\xed\xa0\x80"}', 'latin1')],
    ['UTF-16', Buffer.from(PLANT, 'utf16le')],
    ['arrays that do not close', '['.repeat(400)],
  ])('answers %s', async (_name, body) => {
    await expectError(await post(server.url, body), 40000);
  });

  test('answers arrays and objects within each other more than 1,000 deep, wherever they are', async () => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    for (const deep of [nested(1_001), nested(400_000), '['.repeat(400_000), '{"":'.repeat(1_001)]) {
      for (const body of [deep, `{"id":${deep}`, `{"id":22,"name":"x","y":${deep}}`]) {
        await expectError(await post(server.url, body), 40000, /^the body must not be nested more than 1000 deep$/);
      }
    }
    expect((await post(server.url, `{"id":22,"name":"x","y":${nested(999)}}`)).status).toBe(200);
    await expectError(await post(server.url, `{"id":${nested(999)},"name":"x"}`), 40022, /^id must be/);
  });

  test('answers an empty chunked body', async () => {
    const lines = head(AUTHORIZATION, JSON_TYPE, 'Transfer-Encoding: chunked');
    await expectError(await raw(lines, '0\r\n\r\n'), 40000);
  });
});

describe('40001', () => {
  test.each<[string, readonly string[]]>([
    ['bytes that are no HTTP', ['GARBAGE']],
    ['a header without a colon', head('Garbage')],
    ['a negative Content-Length', head('Content-Length: -1')],
    ['both Content-Length and Transfer-Encoding', head('Content-Length: 1', 'Transfer-Encoding: chunked')],
    ['no Host on HTTP/1.1', ['POST /plants HTTP/1.1', 'Connection: close']],
    ['two Host headers', head('Host: localhost')],
    ['a second Host behind many headers', head(...Array<string>(190).fill('a:'), 'Host: b')],
    ['a Host that is none', ['POST /plants HTTP/1.1', 'Host: a b', 'Connection: close']],
    ['a Host with a path', ['POST /plants HTTP/1.1', 'Host: a/b', 'Connection: close']],
    ['an encoded body', head('Transfer-Encoding: gzip, chunked')],
    ['CONNECT', ['CONNECT localhost:80 HTTP/1.1', 'Host: localhost:80']],
    ['the preface of HTTP/2', ['PRI * HTTP/2.0', '', 'SM']],
    ...[
      ...['http://[/plants', 'http://a:99999/plants', 'http://a%/plants', 'http://%@x/plants/1', 'plants'],
      ...['/plants#fragment', '/plants?query#fragment', 'http://localhost/plants#fragment', '/nothing-here#'],
    ].map((target): [string, string[]] => [
      `the request target ${target}`,
      [`POST ${target} HTTP/1.1`, 'Host: localhost', 'Connection: close'],
    ]),
  ])('answers %s', async (_name, lines) => {
    await expectError(await raw(lines), 40001);
  });

  test('answers HTTP/1.0 with a Transfer-Encoding, and closes the connection', async () => {
    const lines = [AUTHORIZATION, JSON_TYPE, 'Connection: keep-alive', 'Transfer-Encoding: chunked'];
    const body = `${PLANT.length.toString(16)}\r\n${PLANT}\r\n0\r\n\r\n`;
    await expectError(await raw(['POST /plants HTTP/1.0', ...lines], body), 40001, /HTTP\/1\.0/);
  });
});

test('answers 40013 to a body over the limit: one that says so before any of it comes, and a chunked one', async () => {
  const declared = head(AUTHORIZATION, JSON_TYPE, `Content-Length: ${LIMIT + 1}`);
  await expectError(await raw(declared), 40013, /1048576 bytes/);
  const chunked = head(AUTHORIZATION, JSON_TYPE, 'Transfer-Encoding: chunked');
  const body = `${(LIMIT + 1).toString(16)}\r\n${PLANT.padEnd(LIMIT + 1)}\r\n0\r\n\r\n`;
  await expectError(await raw(chunked, body), 40013, /1048576 bytes/);
  expect((await post(server.url, PLANT.padEnd(LIMIT))).status).toBe(200);
});

describe('40015', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/vnd.api+json',
    'application/json, text/plain',
    'application/json; charset=iso-8859-1',
    'json',
  ])('answers the content type %s', async (type) => {
    await expectError(await post(server.url, PLANT, { 'Content-Type': type }), 40015);
  });

  test.each([
    ['no content type', []],
    ['two content types, even if both are right', [JSON_TYPE, JSON_TYPE]],
  ])('answers %s', async (_name, types) => {
    await expectError(await raw(head(AUTHORIZATION, ...types, `Content-Length: ${PLANT.length}`), PLANT), 40015);
  });

  test.each(['gzip', 'br', 'identity'])('answers the content encoding %s', async (encoding) => {
    await expectError(await post(server.url, PLANT, { 'Content-Encoding': encoding }), 40015);
  });

  test.each([
    'Application/JSON',
    'application/json; charset=UTF-8',
    'application/json;charset="utf-8"',
    'application/json ; charset=utf-8; version=1',
  ])('leaves the content type %s alone', async (type) => {
    expect((await post(server.url, PLANT, { 'Content-Type': type })).status).toBe(200);
  });
});

describe('40022', () => {
  test.each(['[]', 'null', '"x"', '1', 'true', `[${PLANT}]`])('says of %s that it is no object', async (body) => {
    await expectError(await post(server.url, body), 40022, /^the body must be an object with an id, a name/);
  });

  const numbers = ['1.5', '9223372036854775808', '-9223372036854775809', '1e999999999', '1e-999999999'];
  test.each([
    ['id', 'an integer from -9', ['{}', '{"name":"x"}', '{"name":"x","ID":1}', '{"name":"x","y":{"id":1}}']],
    ['name', 'a string without', ['{"id":1}', '{"id":1,"__proto__":{"name":"x"}}']],
  ])('says that the %s is missing, and what it must be', async (field, rule, bodies) => {
    for (const body of bodies) {
      await expectError(await post(server.url, body), 40022, new RegExp(`^${field} is missing: it must be ${rule}`));
    }
  });

  test.each(
    ['"1"', 'null', 'true', '[1]', '{}', ...numbers, '1.00000000000000000000001'].map(
      (id) => `{"id":${id},"name":"x"}`,
    ),
  )('names the id of %s', async (body) => {
    await expectError(await post(server.url, body), 40022, /^id must be an integer from -9223372036854775808 to /);
  });

  test.each(
    ['1', 'null', 'true', '["x"]', '{}', '"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"a\\udc00"'].map(
      (name) => `{"id":1,"name":${name}}`,
    ),
  )('names the name of %s', async (body) => {
    await expectError(await post(server.url, body), 40022, /^name must be a string without U\+0000/);
  });

  test.each(
    ['1', 'null', 'false', '[]', '{}', '"\\u0000"', '"\\ud800x"'].map((tag) => `{"id":1,"name":"x","tag":${tag}}`),
  )('names the tag of %s', async (body) => {
    await expectError(await post(server.url, body), 40022, /^tag must be a string without U\+0000.* or omitted$/);
  });
});

describe('what is no error in a body', () => {
  test('ignores unknown fields, those with the names of built-in ones included', async () => {
    const extra = '"y":[{"id":2}],"__proto__":{"tag":"z"},"constructor":null,"toString":1';
    const answer = await post(server.url, `{${extra},"id":100,"name":"x"}`);
    expect([answer.status, await answer.text()]).toEqual([200, '{"name":"x"}']);
  });

  test('takes the last one of duplicate keys, an exact id included', async () => {
    const body = '{"id":"no","name":1,"id":9007199254740993,"name":"x"}';
    expect((await post(server.url, body)).status).toBe(200);
    const conflict = await post(server.url, '{"id":1,"name":"y","\\u0069d":9007199254740993}');
    await expectError(conflict, 40009, /^id 9007199254740993 belongs/);
    expect((await post(server.url, '{"id":9007199254740992,"name":"y"}')).status).toBe(200);
  });

  test('reads escaped keys as they are, whatever keys other requests brought (nodejs/node#63785)', async () => {
    await post(server.url, '{"id":101,"name":"x","\\\\u0":0}');
    const answer = await post(server.url, '{"id":102,"name":"x","\\u0074ag":"tree"}');
    expect([answer.status, await answer.json()]).toEqual([200, { name: 'x', tag: 'tree' }]);
  });
});

describe('401', () => {
  const authorization = (value: string) => [`Authorization: ${value}`];

  test.each<[number, string[]]>([
    [40100, []],
    ...['', 'Basic dXNlcjpwYXNz', 'Bearer ', 'Bearer', TOKEN, `Bearer${TOKEN}`, `Token ${TOKEN}`].map(
      (value): [number, string[]] => [40100, authorization(value)],
    ),
    ...['wrong', `${TOKEN}x`, `${TOKEN.slice(0, -1)}x`, TOKEN.slice(0, -1), TOKEN.toUpperCase(), `${TOKEN} x`].map(
      (token): [number, string[]] => [40101, authorization(`Bearer ${token}`)],
    ),
    [40101, authorization(`Bearer ${TOKEN}, Bearer ${TOKEN}`)],
    [40101, authorization(`Bearer ${'x'.repeat(16_000)}`)],
    [40001, [AUTHORIZATION, AUTHORIZATION]],
    [40001, [AUTHORIZATION, 'AUTHORIZATION: Bearer wrong']],
    [40001, ['authorization:', AUTHORIZATION]],
  ])('or a malformed request: answers %i to %j before the body is read', async (error, credentials) => {
    const answer = await raw(head(...credentials, JSON_TYPE, 'Content-Length: 1000000'));
    const challenges = { 40100: 'Bearer', 40101: 'Bearer error="invalid_token"' };
    expect(answer.headers.get('WWW-Authenticate')).toBe(challenges[error as keyof typeof challenges] ?? null);
    const text = await answer.clone().text();
    await expectError(answer, error);
    if (error === 40001) return;
    expect(text).toContain('a token is a secret text that those who run this service give out');
    // Nothing of what was sent comes back.
    expect(text.length).toBeLessThan(250);
  });

  test.each(['bearer', 'BEARER', 'bEaReR'])('is not answered to the scheme %s', async (scheme) => {
    expect((await post(server.url, PLANT, { Authorization: `${scheme} ${TOKEN}` })).status).toBe(200);
  });

  test('comes before everything that is wrong with the body', async () => {
    const bad = { Authorization: 'Bearer wrong', 'Content-Type': 'text/plain' };
    await expectError(await post(server.url, '{', bad), 40101);
    await expectError(await post(server.url, null, bad), 40101);
    await expectError(await post(server.url, 'x'.repeat(LIMIT + 1), bad), 40101);
  });
});

describe('404 and 405, known without a token', () => {
  test.each(['/', '/plants/', '/PLANTS', '/plants/1/', '/plants/1/2', '//plants', '/plants%2F', '/openapi.json/'])(
    'answers 40400 at %s',
    async (path) => {
      await expectError(await fetch(`${server.url}${path}`, { method: 'POST', body: PLANT }), 40400);
      await expectError(await fetch(`${server.url}${path}`), 40400);
    },
  );

  test.each([
    ['/plants/', '/plants'],
    ['//plants', '/plants'],
    ['/Plants', '/plants'],
    ['/plant/1', '/plants/{id}'],
    ['/plants/a-text-that-may-be-secret/', '/plants/{id}'],
    ['/imports', '/import'],
    ['/doc', '/docs'],
  ])('names at %s the path that may be meant: %s', async (path, meant) => {
    const message = `no such path: you may mean ${meant}; the plants are at /plants, and /docs describes the API`;
    expect(await refusalOf(await fetch(server.url + path))).toEqual([404, 40400, message]);
  });

  test('says at every other path where the plants are, and what describes the API', async () => {
    const message = 'no such path: the plants are at /plants, and /docs describes the API';
    for (const path of ['/', '/nothing', '/plants/1/2', `/${'plants'.repeat(2_000)}`]) {
      expect(await refusalOf(await fetch(server.url + path))).toEqual([404, 40400, message]);
    }
    const { url } = await startApiServer({ pages: false });
    const withoutPages = message.replace('/docs', '/openapi.json');
    expect(await refusalOf(await fetch(url))).toEqual([404, 40400, withoutPages]);
  });

  test.each([
    ['/plants', 'HEAD, GET, POST', ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']],
    ['/plants/1', 'HEAD, GET, PUT, DELETE', ['POST', 'PATCH', 'OPTIONS', 'PROPFIND']],
    ['/plants/no-id', 'HEAD, GET, PUT, DELETE', ['POST']],
    ['/changes', 'HEAD, GET', ['POST', 'PUT', 'DELETE']],
  ])('answers 40500 at %s to other methods than %s', async (path, allowed, methods) => {
    for (const method of methods) {
      const answer = await fetch(`${server.url}${path}`, { method });
      expect([method, answer.headers.get('Allow')]).toEqual([method, allowed]);
      await expectError(answer, 40500);
    }
  });
});

test.each<[string, readonly string[]]>([
  ['slow headers', ['POST /plants HTTP/1.1', 'Host: localhost', AUTHORIZATION]],
  ['a slow body', [...head(AUTHORIZATION, JSON_TYPE, 'Content-Length: 26'), '', PLANT.slice(1)]],
])('answers 40800 to %s', async (_name, lines) => {
  const limits = { headersTimeout: 50, requestTimeout: 100, connectionsCheckingInterval: 10 };
  const slow = await startApiServer({ limits });
  await expectError(parsed(await rawRequest(slow.url, lines.join('\r\n'))), 40800);
});

test.each<[string, number, string, readonly string[]]>([
  ['another expectation', 41700, 'foo', [AUTHORIZATION, JSON_TYPE, 'Content-Length: 2']],
  ['a bad token', 40101, '100-continue', ['Authorization: Bearer wrong', JSON_TYPE, 'Content-Length: 26']],
  ['a wrong content type', 40015, '100-continue', [AUTHORIZATION, 'Content-Type: text/plain', 'Content-Length: 26']],
  ['too large a body', 40013, '100-continue', [AUTHORIZATION, JSON_TYPE, `Content-Length: ${LIMIT + 1}`]],
])('answers Expect with %s by %i, without asking for the body', async (_name, error, expectation, lines) => {
  await expectError(await raw(head(...lines, `Expect: ${expectation}`)), error);
});

test('answers 43100 to headers of more than 16 KiB, and leaves those of less alone', async () => {
  await expectError(await raw(head(`X-Large: ${'x'.repeat(16 * 1024)}`)), 43100);
  expect((await post(server.url, PLANT, { 'X-Large': 'x'.repeat(15 * 1024) })).status).toBe(200);
});

test('answers 43100 to more than 200 headers, and looks at all of so many', async () => {
  const headers = (count: number) => head(...Array.from({ length: count }, (_, index) => `X-${index}: x`));
  await expectError(await raw(headers(200)), 43100);
  // With Host and Connection.
  await expectError(await raw(headers(198)), 40100);
});

/** The response while the store fails so, and what is logged then. */
async function failing(error: Error) {
  const { url, close, lines } = await startApiServer({ plants: { add: () => Promise.reject(error) } });
  const answer = await post(url, PLANT);
  const seen = `${await answer.clone().text()}${JSON.stringify([...answer.headers])}`;
  await close(0);
  expect(seen).not.toContain('secret');
  expect(lines).toEqual([expect.stringContaining('the secret detail')]);
  return { answer, logged: JSON.parse(lines.join()) };
}

test('answers 50000 to a defect, whose details are in the log under the request id only', async () => {
  const { answer, logged } = await failing(new Error('the secret detail'));
  await expectError(answer, 50000, /X-Request-Id/);
  expect(logged).toMatchObject({ level: 50, requestId: answer.headers.get('X-Request-Id') });
});

test('answers 50300 with Retry-After while the store is unavailable, and keeps the cause to the log', async () => {
  const cause = new Error('the secret detail');
  const { answer, logged } = await failing(new PlantStoreError('store_unavailable', 'come again', { cause }));
  expect(answer.headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
  await expectError(answer, 50300, /^come again$/);
  expect(logged).toMatchObject({ level: 40, reason: 'come again', err: { message: cause.message } });
});
