import { describe, expect, test } from '@jest/globals';
import type { Permission } from '../../../../src/application/permissions.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { get, post, refusalOf, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { forAllTests } from '../../../support/lifetimes.ts';
import { rawRequest, requestText } from '../../../support/raw-request.ts';

/* What all reads have in common, and reading one plant. Lists are in lists.test.ts. */

const plants: NewPlant[] = [
  { id: -9223372036854775808n, name: 'the smallest' },
  { id: -1n, name: 'below zero', tag: '' },
  { id: 0n, name: '' },
  { id: 1n, name: 'Monstera "deliciosa" \u{1F33F}\n', tag: 'Zimmerpflanze\uFEFF' },
  { id: 9007199254740993n, name: 'no double has this id' },
  { id: 9223372036854775807n, name: 'the largest', tag: 'tree' },
];

const permissions: Record<string, Permission[]> = {
  [TOKEN]: ['read', 'create'],
  'a-token-that-reads': ['read'],
  'a-token-that-creates': ['create'],
  'a-token-that-changes': ['read', 'change'],
  'a-token-that-may-nothing': [],
};

const server = forAllTests(() =>
  startApiServer({
    plants: fakePlants(new Map(plants.map((plant) => [plant.id, plant]))),
    verifyToken: (token) => permissions[token] && { permissions: new Set(permissions[token]) },
  }),
);

const read = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  get(server.url, path, headers, method);

const refusal = async (response: Promise<Response>) => refusalOf(await response);

const jsonOf = ({ id, name, tag }: NewPlant) =>
  `{"id":${id},"name":${JSON.stringify(name)}${tag === undefined ? '' : `,"tag":${JSON.stringify(tag)}`}}`;

test.each([
  ['/plants', TOKEN, 'HEAD, GET, POST'],
  ['/plants', 'a-token-that-reads', 'HEAD, GET'],
  ['/plants/1', TOKEN, 'HEAD, GET'],
  ['/plants/1', 'a-token-that-changes', 'HEAD, GET, PUT, DELETE'],
  ['/changes', 'a-token-that-changes', 'HEAD, GET'],
  ['/plants/count', 'a-token-that-changes', 'HEAD, GET'],
  ['/tags', 'a-token-that-changes', 'HEAD, GET'],
])('a read of %s says to %s that it may do %s there', async (path, token, allow) => {
  const headers = { Authorization: `Bearer ${token}` };
  const response = await read(path, headers);
  expect([response.status, response.headers.get('Allow')]).toEqual([200, allow]);
  const head = await read(path, headers, 'HEAD');
  expect([head.status, head.headers.get('Allow')]).toEqual([200, allow]);
  const known = await read(path, { ...headers, 'If-None-Match': '*' });
  // A list has no ETag.
  expect([known.status, known.headers.get('Allow')]).toEqual([path === '/plants/1' ? 304 : 200, allow]);
});

describe('a plant', () => {
  test('is read as the whole record, with every digit of its id, and can be sent as it is', async () => {
    for (const plant of plants) {
      const response = await read(`/plants/${plant.id}`);
      const record = await response.text();
      expect([response.status, record]).toEqual([200, jsonOf(plant)]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'application/json',
        'cache-control': 'private, no-cache',
        etag: expect.stringMatching(/^"[\w-]{43}"$/),
        'x-content-type-options': 'nosniff',
      });
      expect((await post(server.url, record)).status).toBe(200);
    }
  });

  test('can have its id percent-encoded, as in any URL', async () => {
    expect(await (await read('/plants/%2D1')).text()).toBe(jsonOf(plants[1] as NewPlant));
  });

  test('that there is not gets 404 / 40401, which no cache may keep', async () => {
    const response = await read('/plants/7');
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    expect(response.headers.get('ETag')).toBeNull();
    expect(await refusalOf(response)).toEqual([404, 40401, 'no plant has the id 7']);
  });

  test.each([...'01 -0 +1 1e3 - \u0661 %201 1%2F2'.split(' '), ...['9223372036854775808', '9'.repeat(5_000)]])(
    'cannot have the id %s',
    async (id) => {
      const rule = /^id must be an integer from .* in decimal digits, without leading zeros or a plus sign$/;
      expect(await refusal(read(`/plants/${id}`))).toEqual([400, 40022, expect.stringMatching(rule)]);
    },
  );
});

test.each(['%FF', '%4'])('a path with %s, which is not UTF-8, means nothing else', async (id) => {
  const rule = 'the path must be percent-encoded UTF-8';
  expect(await refusal(read(`/plants/${id}`))).toEqual([400, 40022, rule]);
});

test.each([
  ['/plants/count', '{"count":6,"isExact":true}'],
  ['/plants/count?tag=&name=ZERO', '{"count":1,"isExact":true}'],
  ['/tags?limit=1', '{"tags":[{"tag":"","count":1,"isExact":true}],"next":"IiI"}'],
  [
    '/tags?after=IiI',
    '{"tags":[{"tag":"Zimmerpflanze\uFEFF","count":1,"isExact":true},{"tag":"tree","count":1,"isExact":true}]}',
  ],
])('%s gives %s', async (path, body) => {
  const response = await read(path);
  expect([response.status, Buffer.from(await response.arrayBuffer()).toString()]).toEqual([200, body]);
});

test.each([
  ['/plants/count?after=1', '"after" is unknown: the query may have only tag, name'],
  ['/tags?limit=1001', 'limit must be an integer from 1 to 1000 in decimal digits'],
])('%s gets 400 / 40022', async (path, message) => {
  expect(await refusal(read(path))).toEqual([400, 40022, message]);
});

describe('an ETag', () => {
  const etagOf = async (id: bigint) => (await read(`/plants/${id}`)).headers.get('ETag') ?? '';

  test('differs between records and is the same for the same one', async () => {
    const all = await Promise.all(plants.map(({ id }) => etagOf(id)));
    expect(new Set(all).size).toBe(plants.length);
    expect(await Promise.all(plants.map(({ id }) => etagOf(id)))).toEqual(all);
  });

  test.each<[string, (etag: string) => string, number]>([
    ['alone', (etag) => etag, 304],
    ['weak, in a list', (etag) => `"another",W/${etag}, "third"`, 304],
    ['as *', () => '*', 304],
    ['of another record', () => '"another"', 200],
    ['without its quotes', (etag) => etag.slice(1, -1), 200],
    ['that is only the beginning', (etag) => `${etag.slice(0, -2)}"`, 200],
  ])('%s in If-None-Match gets %i, without a body if that is 304', async (_how, header, status) => {
    const etag = await etagOf(1n);
    for (const method of ['GET', 'HEAD']) {
      const response = await read('/plants/1', { 'If-None-Match': header(etag) }, method);
      const body = status === 304 || method === 'HEAD' ? '' : jsonOf(plants[3] as NewPlant);
      expect([response.status, await response.text()]).toEqual([status, body]);
      const headers = Object.fromEntries(response.headers);
      expect(headers).toMatchObject({ etag, 'cache-control': 'private, no-cache' });
      if (status === 304) expect(Object.keys(headers).filter((name) => name.startsWith('content-'))).toEqual([]);
    }
  });

  test('does not hide that there is no such plant', async () => {
    expect((await read('/plants/7', { 'If-None-Match': '*' })).status).toBe(404);
  });
});

describe('HEAD', () => {
  test.each(['/plants/1', '/plants?limit=2', '/plants/7'])(
    'of %s has the status and the headers of GET, and no body',
    async (path) => {
      const [get, head] = [await read(path), await read(path, {}, 'HEAD')];
      const comparable = ({ status, headers }: Response) => {
        // Of the connection or of each response.
        const own = ['connection', 'keep-alive', 'date', 'x-request-id', 'transfer-encoding'];
        return [status, [...headers].filter(([name]) => !own.includes(name))];
      };
      expect(comparable(head)).toEqual(comparable(get));
      expect(await head.text()).toBe('');
    },
  );
});

describe('a token', () => {
  const get = (path: string, token: string) => read(path, { Authorization: `Bearer ${token}` });
  const create = (token: string) => post(server.url, '{"id":1,"name":""}', { Authorization: `Bearer ${token}` });

  test.each<[string, number, number]>([
    [TOKEN, 200, 400],
    ['a-token-that-reads', 200, 403],
    ['a-token-that-creates', 403, 400],
    ['a-token-that-may-nothing', 403, 403],
    ['a-token-of-nobody', 401, 401],
  ])('%s gets %i when it reads, and %i when it creates a plant that there is', async (token, reading, creating) => {
    const responses = [await get('/plants/1', token), await get('/plants', token), await create(token)];
    expect(responses.map(({ status }) => status)).toEqual([reading, reading, creating]);
  });
});

describe('the checks have an order:', () => {
  const wrong = { Authorization: 'Bearer a-token-of-nobody' };
  const noRight = { Authorization: 'Bearer a-token-that-creates' };
  const noType = { Accept: 'text/html' };

  test.each<[string, string, string, Record<string, string>, number]>([
    ['the path', 'GET', '/plant/x?y', { ...wrong, ...noType }, 40400],
    ['the method', 'PATCH', '/plants/x?y', { ...wrong, ...noType }, 40500],
    ['the token', 'GET', '/plants/x?y', { ...wrong, ...noType }, 40101],
    ['the permission', 'GET', '/plants/x?y', { ...noRight, ...noType }, 40300],
    ['Accept', 'GET', '/plants/7', noType, 40600],
    ['the plant', 'GET', '/plants/7', {}, 40401],
  ])('%s', async (_what, method, path, headers, error) => {
    expect((await refusal(read(path, headers, method)))[1]).toBe(error);
  });

  test('the parameters in the path before those in the query, and these before Accept', async () => {
    expect((await refusal(read('/plants/x?y', noType)))[2]).toMatch(/^id must be /);
    expect((await refusal(read('/plants/1?y', noType)))[2]).toMatch(/^"y" is unknown/);
    expect((await refusal(read('/plants?limit=0', noType)))[2]).toMatch(/^limit must be /);
  });
});

test.each(['/plants/1', '/changes'])('%s is JSON only', async (path) => {
  expect((await read(path, { Accept: 'application/x-ndjson;q=1, application/*;q=0.1' })).status).toBe(200);
  const refused = [406, 40600, 'Accept must allow application/json'];
  expect(await refusal(read(path, { Accept: 'application/x-ndjson' }))).toEqual(refused);
});

test('one plant takes no query', async () => {
  const message = '"limit" is unknown: the query may have no parameters';
  expect(await refusal(read('/plants/1?limit=1'))).toEqual([400, 40022, message]);
  expect((await read('/plants/1?')).status).toBe(200);
});

test('creating ignores its query and Accept', async () => {
  const body = jsonOf(plants[1] as NewPlant);
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', Accept: 'text/html' };
  const response = await fetch(`${server.url}/plants?x=/1&x=2&%FF`, { method: 'POST', headers, body });
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'application/json']);
});

test('a body that a client sends with a read is ignored', async () => {
  const answer = await rawRequest(server.url, requestText('GET /plants/0', 'abc', 'Connection: close\r\n'));
  expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n{"id":0,"name":""}$/);
});
