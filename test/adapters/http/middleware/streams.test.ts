import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { PlantRepository } from '../../../../src/application/ports.ts';
import { PlantStoreError } from '../../../../src/domain/errors.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { type ApiServer, get, refusalOf, startApiServer } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { BATCH, fakePlants } from '../../../support/fake-plants.ts';
import { connectTo } from '../../../support/http-bytes.ts';
import { atEnd } from '../../../support/lifetimes.ts';
import { many } from '../../../support/plants/plant-lines.ts';
import { rawRequest, requestText } from '../../../support/raw-request.ts';

/* Lists that are longer than one batch, which are sent while they are read. */

/** More than one batch has. */
const MANY = BATCH + 500;
const LIMITED = `?limit=${BATCH + 400}`;

const TOO_MANY = 'too many requests of this kind are in progress; sending the same request again is safe';

const LINES = { Accept: 'application/x-ndjson' };

let server: ApiServer;

const upTo = (count: number): NewPlant[] => many(count).map(({ id, name }) => ({ id, name: name.padEnd(500) }));
const storing = (plants: readonly NewPlant[]) => fakePlants(new Map(plants.map((plant) => [plant.id, plant])));

const list = (query = '', headers: Record<string, string> = {}) => get(server.url, `/plants${query}`, headers);
const request = (target = '/plants', more = '') => requestText(`GET ${target}`, '', more);
const oldRequest = (target: string, accept: string) =>
  request(target, `Accept: ${accept}\r\n`).replace('HTTP/1.1', 'HTTP/1.0');

/** A connection that has sent these bytes and reads nothing until it is told to. */
function send(bytes: string): Socket {
  const socket = connectTo(server.url);
  atEnd(() => socket.destroy());
  socket.pause();
  socket.write(bytes);
  return socket;
}

/** A store without an end, whose batches have a mebibyte each, and how many were read. */
function endless() {
  const state = { reads: 0 };
  const read: PlantRepository['list'] = async ({ from }, count) => {
    state.reads++;
    const first = from < 0n ? 0n : from;
    const length = Math.min(count, BATCH);
    const name = 'x'.repeat(1024 ** 2 / length);
    const plants = Array.from({ length }, (_, n) => ({ id: first + BigInt(n), name }));
    return { plants, next: plants.at(-1)?.id };
  };
  return { state, plants: { list: read } };
}

/** A store of MANY plants; batches after the first of a list wait until the test lets all go, or one of them fail. */
function held() {
  const stored = storing(upTo(MANY));
  const waiting: PromiseWithResolvers<void>[] = [];
  let isHeld = true;
  const read: PlantRepository['list'] = async (range, count) => {
    if (isHeld && range.from > 0n) {
      const turn = Promise.withResolvers<void>();
      waiting.push(turn);
      await turn.promise;
    }
    return stored.list(range, count);
  };
  function release(): void {
    isHeld = false;
    for (const { resolve } of waiting) resolve();
  }
  return { waiting, release, plants: { ...stored, list: read } };
}

/** Resolves once nothing is read any more. */
async function stopped(state: { readonly reads: number }): Promise<void> {
  let before: number;
  do {
    before = state.reads;
    await get(server.url, '/plants/1');
  } while (state.reads > before);
}

test('sends all plants of several batches as one array, or as lines', async () => {
  const count = 3 * BATCH;
  server = await startApiServer({ plants: storing(upTo(count)) });
  const items = upTo(count).map(({ id, name }) => `{"id":${id},"name":"${name}"}`);
  const array = await list();
  expect(array.headers.get('Content-Type')).toBe('application/json');
  expect(array.headers.get('Content-Length')).toBeNull();
  expect(await array.text()).toBe(`[${items.join()}]`);
  expect(await (await list('', LINES)).text()).toBe(`${items.join('\n')}\n`);
  const page = await list(LIMITED);
  expect(page.headers.get('Link')).toBeNull();
  expect(await page.text()).toBe(`[${items.slice(0, BATCH + 400).join()}]`);
});

test('an error after the 200 breaks the connection, and gives the place back', async () => {
  const { plants, waiting } = held();
  server = await startApiServer({ plants, maxStreams: 2 });
  const answered = rawRequest(server.url, request('/plants', `Accept: ${LINES.Accept}\r\n`)).catch(() => 'reset');
  const response = await list();
  expect(response.status).toBe(200);
  await eventually(() => waiting.length === 2);
  waiting[0]?.reject(new PlantStoreError('store_unavailable', 'not now'));
  waiting[1]?.reject(new Error('a defect'));
  await expect(response.text()).rejects.toThrow();
  // The last chunk of a complete body, without which no client takes what came for the whole.
  expect(await answered).not.toMatch(/\r\n0\r\n\r\n$/);
  // One line for each request, of which one fails as expected and one by a defect.
  await eventually(() => server.lines.length === 2);
  const broken = { msg: 'request', requestId: expect.any(String), status: 200, aborted: true };
  expect(server.lines.map((line) => JSON.parse(line)).toSorted((a, b) => a.level - b.level)).toEqual([
    expect.objectContaining({ ...broken, level: 40, error: 50300, reason: 'not now' }),
    expect.objectContaining({ ...broken, level: 50, error: 50000 }),
  ]);
  expect(server.lines.join('')).toContain('a defect');
  const again = [await list(), await list()];
  expect(again.map(({ status }) => status)).toEqual([200, 200]);
  for (const { body } of again) await body?.cancel();
});

test('over HTTP/1.0 a stream of lines is refused, since no chunk would show its end', async () => {
  server = await startApiServer({ plants: storing(upTo(MANY)), maxStreams: 1 });
  for (const target of ['/plants', `/plants${LIMITED}`]) {
    const response = await rawRequest(server.url, oldRequest(target, LINES.Accept));
    expect(response).toMatch(/^HTTP\/1\.1 406 [\s\S]*"error":40600/);
  }
  // An array shows by its end that it is whole.
  expect(await rawRequest(server.url, oldRequest('/plants', 'application/json'))).toMatch(/\r\n\r\n\[.*\]$/);
  const page = await rawRequest(server.url, oldRequest('/plants?limit=2', LINES.Accept));
  expect(page).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n\{"id":0,.*\n\{"id":1,.*\n$/);
});

test('more streams than MAX_STREAMS get 503 / 50300, while short lists are read', async () => {
  const { plants, release } = held();
  server = await startApiServer({ plants, maxStreams: 2 });
  const streams = [await list(), await list(LIMITED)];
  expect(streams.map(({ status }) => status)).toEqual([200, 200]);
  for (const query of ['', `?limit=${BATCH + 1}`]) {
    const refused = await list(query);
    expect([refused.headers.get('Retry-After'), refused.headers.get('Link')]).toEqual(['1', null]);
    expect(await refusalOf(refused)).toEqual([503, 50300, TOO_MANY]);
  }
  expect((await list('?limit=1000')).status).toBe(200);
  expect((await get(server.url, '/plants/7')).status).toBe(200);

  release();
  await Promise.all(streams.map((stream) => stream.text()));
  const again = await list();
  expect(again.status).toBe(200);
  await again.text();
});

test('for a client that does not read, no more is read than its connection holds', async () => {
  const { plants, state } = endless();
  server = await startApiServer({ plants });
  const [slow, fast] = [send(request()), send(request())];
  fast.resume();
  await eventually(() => fast.bytesRead > 80 * 1024 ** 2);
  // The slow one takes what the buffers of its socket hold.
  expect(state.reads - fast.bytesRead / 1024 ** 2).toBeLessThan(30);
  slow.destroy();
});

describe('a search', () => {
  /** A store without an end, in which nothing is found but what a test gives, and how often it was searched. */
  function searched() {
    const state = { reads: 0, found: [] as NewPlant[] };
    const read: PlantRepository['list'] = async ({ from }, count, signal) => {
      // A page is read until its time is over, which stands still here.
      do {
        state.reads++;
        await nextTurn();
      } while (count <= 1_000 && signal?.aborted === false);
      const found = state.found.splice(0);
      return { plants: found, next: (from < 0n ? 0n : from) + 4_999n };
    };
    return { state, plants: { list: read } };
  }

  test('that is streamed sends its head before it finds anything, and then what it finds', async () => {
    const { state, plants } = searched();
    server = await startApiServer({ plants });
    const response = await list('?name=x', { Accept: 'text/csv' });
    expect(response.status).toBe(200);
    await eventually(() => state.reads > 10);
    let body = '';
    const reading = (async () => {
      for await (const chunk of response.body ?? []) body += Buffer.from(chunk);
    })();
    reading.catch(() => {});
    await eventually(() => body === 'id,name,tag\r\n');
    state.found.push({ id: 7n, name: 'x' }, { id: 8n, name: 'y' });
    await eventually(() => body === 'id,name,tag\r\n7,x,\r\n8,y,\r\n');
  });

  test.each(['', '?limit=10'])(
    'with the query %j stops when its client leaves, though there is nothing to send',
    async (query) => {
      const { state, plants } = searched();
      server = await startApiServer({ plants });
      // More often than there are places.
      for (let times = 1; times <= 5; times++) {
        state.reads = 0;
        const socket = send(request(`/plants${query}${query ? '&' : '?'}name=x`));
        await eventually(() => state.reads > 10);
        if (times % 2 > 0) socket.end();
        else socket.resetAndDestroy();
        await stopped(state);
      }
    },
  );

  test('beyond four pages at once gets 503 / 50300 until one has ended; lists go on', async () => {
    const stored = storing(upTo(10));
    const waiting: (() => void)[] = [];
    const read: PlantRepository['list'] = async (range, count) => {
      if (range.name === 'plant') await new Promise<void>((resolve) => waiting.push(resolve));
      return stored.list(range, count);
    };
    server = await startApiServer({ plants: { ...stored, list: read } });
    for (let times = 1; times <= 2; times++) {
      const searches = [10, 9, 2, 1].map((limit) => list(`?name=plant&limit=${limit}`));
      await eventually(() => waiting.length === 4);
      for (const query of ['?name=x', '?name=x&limit=1']) {
        const refused = await list(query);
        expect(refused.headers.get('Retry-After')).toBe('1');
        expect(await refusalOf(refused)).toEqual([503, 50300, TOO_MANY]);
      }
      for (const path of ['/plants/count', '/tags']) {
        expect(await refusalOf(await get(server.url, path))).toEqual([503, 50300, TOO_MANY]);
      }
      for (const query of ['', '?limit=5', '?name=']) expect((await list(query)).status).toBe(200);
      for (const release of waiting.splice(0)) release();
      const counts = await Promise.all(searches.map(async (search) => ((await (await search).json()) as []).length));
      expect(counts).toEqual([10, 9, 2, 1]);
    }
  });

  test('that is streamed delays no page while its client is slow, and goes on later', async () => {
    const { plants, state } = endless();
    server = await startApiServer({ plants });
    const slow = Array.from({ length: 4 }, () => send(request('/plants?name=x')));
    await eventually(() => state.reads >= 2 * slow.length);
    expect((await list('?name=x&limit=1')).status).toBe(200);
    // Each of those that it takes is more than their sockets hold.
    for (const socket of slow) {
      socket.resume();
      await eventually(() => socket.bytesRead > 20 * 1024 ** 2);
      socket.destroy();
    }
  });

  test('gives its place back after a response of any kind', async () => {
    let isFailing = true;
    const read: PlantRepository['list'] = async () => {
      if (isFailing) throw new PlantStoreError('store_unavailable', 'not now');
      return { plants: [], next: undefined };
    };
    server = await startApiServer({ plants: { list: read }, maxStreams: 1 });
    const page = '/plants?limit=10&name=x';
    // More often than there are places.
    for (let times = 1; times <= 5; times++) {
      expect((await get(server.url, page)).status).toBe(503);
      await expect((async () => (await list('?name=x')).text())()).rejects.toThrow();
      expect((await get(server.url, '/plants?name=x', {}, 'HEAD')).status).toBe(200);
      expect(await rawRequest(server.url, oldRequest('/plants?name=x', LINES.Accept))).toMatch(/^HTTP\/1\.1 406 /);
    }
    isFailing = false;
    expect([(await get(server.url, page)).status, await (await list('?name=x')).text()]).toEqual([200, '[]']);
  });
});

test('responses that nobody reads are bounded in bytes, but one alone is always sent', async () => {
  const name = 'x'.repeat(20_000_000);
  server = await startApiServer({ plants: storing([{ id: 1n, name }]), maxRequestBytes: 1_000 });
  const slow = send(request('/plants/1'));
  await once(slow, 'connect');
  await eventually(async () => {
    const refused = await get(server.url, '/plants/1');
    if (refused.status === 200) await refused.body?.cancel();
    return refused.status === 503;
  });
  slow.destroy();
  await eventually(async () => {
    const response = await get(server.url, '/plants/1');
    return response.status === 200 && (await response.text()).length > name.length;
  });
});
