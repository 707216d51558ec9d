import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../../../../src/adapters/http/server.ts';
import { type Access, allPermissions } from '../../../../src/application/permissions.ts';
import type { UseCases } from '../../../../src/application/use-cases.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { get, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { connectTo } from '../../../support/http-bytes.ts';
import { requestText } from '../../../support/raw-request.ts';

/* Changing, deleting and following plants over HTTP. For the store, see test/contract. */

const FICUS = { id: 1n, name: 'Ficus', tag: 'tree' };

let stored: Map<bigint, NewPlant | 'deleted'>;
let server: HttpServer;
beforeEach(async () => {
  stored = new Map([[2n, 'deleted']]);
  const plants = fakePlants(stored);
  server = await startApiServer({ plants, maxFollowers: 2 });
  await plants.add(FICUS);
});

interface Sent {
  readonly body?: string | null;
  readonly headers?: Record<string, string>;
}

async function send(method: string, path: string, { body = null, headers = {} }: Sent = {}) {
  const own = { Authorization: `Bearer ${TOKEN}`, ...(body !== null && { 'Content-Type': 'application/json' }) };
  const response = await fetch(server.url + path, { method, headers: { ...own, ...headers }, body });
  const text = await response.text();
  const { error } = text.startsWith('{"error"') ? (JSON.parse(text) as { error: number }) : {};
  return { status: response.status, text, error, headers: response.headers };
}

const put = (path: string, body: string, more: Sent = {}) => send('PUT', path, { body, ...more });
const remove = (path: string, more: Sent = {}) => send('DELETE', path, more);
const etagOf = async (path: string) => (await get(server.url, path)).headers.get('ETag') ?? '';

describe('PUT /plants/{id}', () => {
  test('replaces name and tag, and returns the record with the ETag that reading it has', async () => {
    const before = await etagOf('/plants/1');
    const { status, text, headers } = await put('/plants/1', '{"name":"Ficus carica"}');
    expect([status, text]).toEqual([200, '{"id":1,"name":"Ficus carica"}']);
    expect(headers.get('ETag')).not.toBe(before);
    expect(headers.get('ETag')).toBe(await etagOf('/plants/1'));
    expect(headers.get('Cache-Control')).toBe('no-store');
  });

  test.each<[string, string, string, number, number]>([
    ['an id that none has', '/plants/7', '{"name":""}', 404, 40401],
    ['the id of a deleted plant', '/plants/2', '{"name":""}', 410, 41000],
    ['an id in another spelling, whatever the body is', '/plants/01', '{', 400, 40022],
    ['a query', '/plants/1?x=1', '{"name":""}', 400, 40022],
    ['another id in the body', '/plants/1', '{"id":2,"name":""}', 400, 40022],
    ['a name with U+0000', '/plants/1', '{"name":"\\u0000"}', 400, 40022],
    ['a body that is no JSON', '/plants/1', '{', 400, 40000],
  ])('with %s changes nothing', async (_what, path, body, status, error) => {
    expect(await put(path, body)).toMatchObject({ status, error });
    expect(stored.get(1n)).toEqual(FICUS);
  });

  test.each([
    ['Tag', '"tag":"x","Tag":"y","tags":"z"'],
    ['__proto__', '"__proto__":{"tag":"x"}'],
    [`${'x'.repeat(100)}…`, `"${'x'.repeat(60_000)}":1`],
  ])('names the member %s, which would have meant nothing, and changes nothing', async (name, members) => {
    const { status, text } = await put('/plants/1', `{"name":"Monstera",${members}}`);
    const message = `${JSON.stringify(name)} is unknown: the body may have only id, name, tag`;
    expect([status, JSON.parse(text)]).toEqual([400, { error: 40022, message }]);
    expect(stored.get(1n)).toEqual(FICUS);
  });
});

const LET_THROUGH = { 'If-Match': true, 'If-None-Match': false };

test.each<[string, (etag: string) => string, matches: readonly (keyof typeof LET_THROUGH)[]]>([
  ['the ETag', (etag) => etag, ['If-Match', 'If-None-Match']],
  ['the ETag among others', (etag) => `"x", ${etag}`, ['If-Match', 'If-None-Match']],
  ['*', () => '*', ['If-Match', 'If-None-Match']],
  ['another ETag', () => '"x"', []],
  ['the ETag as a weak one', (etag) => `W/${etag}`, ['If-None-Match']],
  ['an ETag with a comma', () => '"x,y"', []],
])(
  'with %s the headers let a change and a deletion through, or refuse both with 412',
  async (_what, header, matches) => {
    for (const name of ['If-None-Match', 'If-Match'] as const) {
      const isLetThrough = matches.includes(name) === LET_THROUGH[name];
      const outcome = (status: number) => (isLetThrough ? [name, status, undefined] : [name, 412, 41200]);
      stored.set(1n, FICUS);
      const headers = async () => ({ [name]: header(await etagOf('/plants/1')) });
      const changed = await put('/plants/1', '{"name":"Ficus","tag":"shrub"}', { headers: await headers() });
      expect([name, changed.status, changed.error]).toEqual(outcome(200));
      expect(stored.get(1n)).toMatchObject({ tag: isLetThrough ? 'shrub' : 'tree' });
      const deleted = await remove('/plants/1', { headers: await headers() });
      expect([name, deleted.status, deleted.error]).toEqual(outcome(204));
      expect(stored.get(1n)).toEqual(isLetThrough ? 'deleted' : FICUS);
    }
  },
);

test.each(['If-Match', 'If-None-Match'])(
  '%s without quotes is named as the mistake, and nothing happens',
  async (name) => {
    const etag = await etagOf('/plants/1');
    const message = `${name} must be ETags with their double quotes, such as "abc", or *`;
    for (const value of [etag.slice(1, -1), etag.slice(1), `"x", ${etag.slice(1, -1)}`, '', ',', `*, ${etag}`]) {
      const headers = { [name]: value };
      for (const { status, text } of [
        await put('/plants/1', OTHER, { headers }),
        await remove('/plants/1', { headers }),
      ]) {
        expect([value, status, JSON.parse(text)]).toEqual([value, 400, { error: 40022, message }]);
      }
    }
    expect(stored.get(1n)).toEqual(FICUS);
  },
);

const OTHER = '{"name":"Ficus carica"}';

test('DELETE gets 204 without a body or its headers, and again when it is repeated', async () => {
  for (let time = 0; time < 2; time++) {
    const { status, text, headers } = await remove('/plants/1');
    expect([status, text]).toEqual([204, '']);
    expect([headers.get('Content-Type'), headers.get('Content-Length')]).toEqual([null, null]);
  }
  expect((await send('GET', '/plants/1')).error).toBe(41000);
  expect((await send('POST', '/plants', { body: '{"id":1,"name":"Ficus","tag":"tree"}' })).error).toBe(40010);
  expect((await send('GET', '/plants')).text).toBe('[]');
});

describe('GET /changes', () => {
  const changes = async (query = '') => send('GET', `/changes${query}`);
  const nextOf = ({ text }: { readonly text: string }) => (JSON.parse(text) as { next: string }).next;

  test('has creations, changes and deletions, and goes on from next', async () => {
    const first = await changes();
    expect(first.text).toMatch(
      /^\{"changes":\[\{"id":1,"name":"Ficus","tag":"tree"\}\],"next":"[\w-]+","atEnd":true\}$/,
    );
    const empty = await changes(`?after=${nextOf(first)}`);
    expect(empty.text).toBe(`{"changes":[],"next":"${nextOf(first)}","atEnd":true}`);
    await remove('/plants/1');
    const second = await changes(`?after=${nextOf(first)}&limit=1`);
    expect(second.text).toMatch(/^\{"changes":\[\{"id":1,"deleted":true\}\],"next":/);
  });

  test.each(['limit=1001', 'wait=31', 'x=1'])('with %s gets 400 / 40022', async (query) => {
    expect(await changes(`?${query}`)).toMatchObject({ status: 400, error: 40022 });
  });

  test('does not wait for a client that has left before its token was verified', async () => {
    const verified = Promise.withResolvers<Access>();
    const verifyToken = (token: string) => (token === TOKEN ? { permissions: allPermissions } : verified.promise);
    const calls: boolean[] = [];
    const readChanges: UseCases['readChanges'] = async ({ signal }) => {
      calls.push(signal.aborted);
      return { changes: [], next: 'x', atEnd: true };
    };
    server = await startApiServer({ verifyToken, cases: { readChanges } });
    const socket = connectTo(server.url);
    socket.end(requestText('GET /changes?wait=30').replace(TOKEN, 'another-token'));
    expect(await text(socket)).toBe('');
    expect(calls).toEqual([]);
    verified.resolve({ permissions: allPermissions });
    await eventually(() => calls.length === 1);
    expect(calls).toEqual([true]);
  });

  test('beyond MAX_FOLLOWERS gets 503, and a place is free when a client leaves', async () => {
    const next = nextOf(await changes());
    const clients = [new AbortController(), new AbortController()];
    const waiting = clients.map(({ signal }) =>
      fetch(`${server.url}/changes?after=${next}&wait=30`, { signal, headers: { Authorization: `Bearer ${TOKEN}` } }),
    );
    const settled = Promise.allSettled(waiting);
    await eventually(async () => (await changes()).status === 503);
    expect(await changes()).toMatchObject({ status: 503, error: 50300 });
    expect((await send('GET', '/plants/1')).status).toBe(200);
    clients[0]?.abort();
    await eventually(async () => (await changes()).status === 200);
    clients[1]?.abort();
    await settled;
  });
});
