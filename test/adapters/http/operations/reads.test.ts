import { describe, expect, test } from '@jest/globals';
import type { Permission } from '../../../../src/application/permissions.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { get, post, refusalOf, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { forAllTests } from '../../../support/lifetimes.ts';

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
  test('is read as the whole record, with its exact id, and can be sent as it is', async () => {
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

  test.each([...'01 -0 +1 1e3 \u0661 1%2F2 9223372036854775808'.split(' '), '9'.repeat(5_000), '%FF'])(
    'cannot have the id %s',
    async (id) => {
      const rule = /^id must be an integer from .* in decimal digits, without/;
      expect(await refusal(read(`/plants/${id}`))).toEqual([400, 40022, expect.stringMatching(rule)]);
    },
  );
});

test.each([
  ['/plants/count?tag=&name=ZERO', '{"count":1,"isExact":true}'],
  ['/tags?limit=1', '{"tags":[{"tag":"","count":1,"isExact":true}],"next":"t"}'],
  [
    '/tags?after=t',
    '{"tags":[{"tag":"Zimmerpflanze\uFEFF","count":1,"isExact":true},{"tag":"tree","count":1,"isExact":true}]}',
  ],
])('%s gives %s', async (path, body) => {
  const response = await read(path);
  expect([response.status, Buffer.from(await response.arrayBuffer()).toString()]).toEqual([200, body]);
});

test.each(['', 'IiI', 't_w', 'tAA', 'tIg=='])('refuses "%s" as a place in the tags', async (after) => {
  const message = 'after must be the "next" of an earlier response of /tags';
  expect(await refusal(read(`/tags?after=${after}`))).toEqual([400, 40022, message]);
});

const etagOf = async (id: bigint) => (await read(`/plants/${id}`)).headers.get('ETag') ?? '';

test.each<[string, (etag: string) => string, number]>([
  ['alone', (etag) => etag, 304],
  ['weak, in a list', (etag) => `"another",W/${etag}, "third"`, 304],
  ['as *', () => '*', 304],
  ['of another record', () => '"another"', 200],
  ['without its quotes', (etag) => etag.slice(1, -1), 200],
])('an ETag %s in If-None-Match gets %i, without a body if that is 304', async (_how, header, status) => {
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

test.each(['/plants/1', '/plants?limit=2', '/plants/7'])(
  'HEAD of %s has the status and the headers of GET, and no body',
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

test.each<[string, number, number, number]>([
  [TOKEN, 200, 400, 403],
  ['a-token-that-reads', 200, 403, 403],
  ['a-token-that-creates', 403, 400, 403],
  ['a-token-that-changes', 200, 403, 400],
  ['a-token-that-may-nothing', 403, 403, 403],
  ['a-token-of-nobody', 401, 401, 401],
])(
  '%s gets %i when it reads, %i when it creates a plant that there is, and %i when it changes none',
  async (token, ...statuses) => {
    const headers = { Authorization: `Bearer ${token}` };
    const [reading, creating, changing] = statuses;
    const reads = [await read('/plants/1', headers), await read('/plants', headers)];
    const changes = [await read('/plants/x', headers, 'PUT'), await read('/plants/x', headers, 'DELETE')];
    const responses = [...reads, await post(server.url, '{"id":1,"name":""}', headers), ...changes];
    expect(responses.map(({ status }) => status)).toEqual([reading, reading, creating, changing, changing]);
  },
);

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
])('the checks have an order: %s', async (_what, method, path, headers, error) => {
  expect((await refusal(read(path, headers, method)))[1]).toBe(error);
});
