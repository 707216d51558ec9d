import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import type { PlantRepository } from '../../../../src/application/ports.ts';
import type { UseCases } from '../../../../src/application/use-cases.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { type ApiServer, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { connectTo } from '../../../support/http-bytes.ts';
import { atEnd } from '../../../support/lifetimes.ts';
import { rawRequest, requestText as request, statusesIn as statuses } from '../../../support/raw-request.ts';

/* One request of a connection at a time: what comes before its response has been sent has no effect. */

const BODY = '{"id":1,"name":"Monstera"}';
const CHANGED = '{"name":"Ficus"}';
const CLOSE = 'Connection: close\r\n';

const read = (lines = '') => request('GET /plants/1', '', lines);
const remove = (lines = '') => request('DELETE /plants/1', '', lines);

const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

const LIMITS = { headersTimeout: 500, requestTimeout: 500, connectionsCheckingInterval: 10 };

let server: ApiServer;
/** Sends bytes. `received` is all that has come back. */
function send(bytes: string) {
  const socket = connectTo(server.url).setEncoding('utf8');
  atEnd(() => socket.destroy());
  const sent = {
    socket,
    received: '',
    closed: false,
    /** Of all responses, once the connection is closed. */
    async statuses(): Promise<number[]> {
      await eventually(() => sent.closed);
      return statuses(sent.received);
    },
  };
  socket.on('data', (text: string) => (sent.received += text));
  socket.on('close', () => (sent.closed = true));
  socket.write(bytes);
  return sent;
}

/** A store with a plant that notes its calls; each waits until the test releases it. */
function held() {
  const calls: string[] = [];
  const waiting: (() => void)[] = [];
  const plants = fakePlants(new Map<bigint, NewPlant | 'deleted'>([[1n, { id: 1n, name: 'Monstera' }]]));
  const noted =
    <Arguments extends unknown[], Result>(name: string, call: (...all: Arguments) => Promise<Result>) =>
    async (...all: Arguments) => {
      calls.push(name);
      await new Promise<void>((resolve) => waiting.push(resolve));
      return call(...all);
    };
  const [add, find] = [noted('add', plants.add), noted('find', plants.find)];
  const [replace, remove] = [noted('replace', plants.replace), noted('remove', plants.remove)];
  const store: PlantRepository = { ...plants, add, find, replace, remove };
  async function release(): Promise<void> {
    await eventually(() => waiting.length > 0);
    waiting.shift()?.();
  }
  return { calls, store, release };
}

/** Sends bytes to a service with such a store, and waits for the first call. */
async function sendHeld(bytes: string, options: Parameters<typeof startApiServer>[0] = {}) {
  const { calls, store, release } = held();
  server = await startApiServer({ plants: store, ...options });
  const sent = send(bytes);
  await eventually(() => calls.length === 1);
  return { calls, release, sent };
}

/** Resolves when the service has read what other clients sent before, which it does in one turn of its event loop. */
async function readByService(): Promise<void> {
  expect(statuses(await rawRequest(server.url, request('GET /openapi.json', '', CLOSE)))).toEqual([200]);
}

/** The requests of other clients whose headers the service has read during the work. */
async function parsedRequests(work: () => Promise<void>): Promise<IncomingMessage[]> {
  const parsed: IncomingMessage[] = [];
  const note = (message: unknown) => parsed.push((message as { request: IncomingMessage }).request);
  subscribe('http.server.request.start', note);
  await work();
  unsubscribe('http.server.request.start', note);
  return parsed.filter(({ url }) => url !== '/openapi.json');
}

/** A list whose second part waits until the test releases it. */
function heldList() {
  const { promise, resolve } = Promise.withResolvers<void>();
  async function* plants() {
    yield [{ id: 1n, name: 'Monstera' }];
    await promise;
    yield [{ id: 2n, name: 'Ficus' }];
  }
  const listPlants: UseCases['listPlants'] = async () => ({ first: [], others: plants(), next: undefined });
  return { cases: { listPlants }, release: resolve };
}

test.each([
  ['in the same packet', read() + remove(), ''],
  ['in parts', read() + remove().slice(0, -1), '\n'],
  ['with a body that does not come', read(), request('POST /plants', BODY).slice(0, -1)],
  ['as garbage', `${read()}garbage\r\n\r\n`, ''],
  ['as a CONNECT', read() + CONNECT, ''],
])(
  'what comes while another request of its connection is in progress has no effect, and the response to the other one says that the connection closes: %s',
  async (_, first, more) => {
    const { calls, release, sent } = await sendHeld(first);
    sent.socket.write(more);
    await readByService();
    await release();
    expect(await sent.statuses()).toEqual([200]);
    expect(sent.received).toMatch(/^Connection: close\r$/m);
    expect(calls).toEqual(['find']);
  },
);

test('the response goes to a client that has closed its side', async () => {
  const { release, sent } = await sendHeld(read());
  sent.socket.end();
  await readByService();
  await release();
  expect(await sent.statuses()).toEqual([200]);
});

test('time that is up for a request that has not come cuts no response that is being sent', async () => {
  const { cases, release } = heldList();
  server = await startApiServer({ cases, limits: LIMITS });
  const sent = send(request('GET /plants') + remove().slice(0, -1));
  // One that came at the same time.
  expect(statuses(await rawRequest(server.url, request('POST /plants', BODY).slice(0, -1)))).toEqual([408]);
  await eventually(() => sent.received.includes('Monstera'));
  release();
  expect(await sent.statuses()).toEqual([200]);
  expect(sent.received).toContain('Ficus');
});

test.each<[string, string, () => unknown]>([
  ['', '', () => {}],
  [', and comes behind another request', read(), () => {}],
  [', and comes while the service stops for a person', '', () => void server.close(60_000)],
])('a CONNECT cuts no list that waits for its client%s', async (_, before, meanwhile) => {
  const plants = Array.from({ length: 40 }, (_, n) => ({ id: BigInt(n), name: 'x'.repeat(1024 ** 2) }));
  async function* parts() {
    for (const plant of plants) yield [plant];
  }
  server = await startApiServer({
    cases: { listPlants: async () => ({ first: [], others: parts(), next: undefined }) },
  });
  const sent = send(request('GET /plants'));
  await eventually(() => sent.received !== '');
  sent.socket.pause();
  sent.socket.write(before);
  await readByService();
  meanwhile();
  sent.socket.write(CONNECT);
  sent.socket.resume();
  expect(await sent.statuses()).toEqual([200]);
  expect(sent.received).toContain('"id":39');
  expect(sent.received).toMatch(/\r\n0\r\n\r\n$/);
});

describe('a request that was refused before its body came', () => {
  const refused = request('POST /plants', BODY).replace(TOKEN, 'wrong').slice(0, -BODY.length);

  test('gets no second response when its body never comes: its connection is closed', async () => {
    server = await startApiServer({ limits: LIMITS });
    const sent = send(refused);
    expect(await sent.statuses()).toEqual([401]);
    expect(server.lines.map((line) => JSON.parse(line).status)).toEqual([401]);
  });

  test('is read no further if the response closes the connection', async () => {
    server = await startApiServer({ limits: { requestTimeout: 3_600_000 } });
    const socket = connectTo(server.url, true).resume();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.write(refused.replace(/Content-Length: \d+/, 'Content-Length: 1000000000').replace('\r\n', `\r\n${CLOSE}`));
    const body = setInterval(() => socket.write(' '), 1);
    atEnd(() => clearInterval(body));
    await closed;
  });

  test('has its connection stay open once the body has come', async () => {
    server = await startApiServer();
    const sent = send(refused);
    await eventually(() => statuses(sent.received).length === 1);
    sent.socket.write(BODY + read(CLOSE));
    expect(await sent.statuses()).toEqual([401, 404]);
  });
});

const CURL_HTTP2 = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';

describe.each([
  ['HTTP/2, as curl --http2 does', CURL_HTTP2],
  ['a WebSocket', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
])('a request that offers %s', (_what, offer) => {
  test('gets its response, and none of those behind it begins, whose bytes may be lost', async () => {
    const { calls, release, sent } = await sendHeld(read(offer) + request('PUT /plants/1', CHANGED));
    sent.socket.write(remove());
    await readByService();
    await release();
    expect(await sent.statuses()).toEqual([200]);
    expect(sent.received).toMatch(/^Connection: close\r$/m);
    expect(calls).toEqual(['find']);
  });
});

test('a list with a CONNECT and more behind it is the end of its connection', async () => {
  const { cases, release } = heldList();
  server = await startApiServer({ cases, limits: { responseTimeout: 3_600_000 } });
  const sent = send(request('GET /plants'));
  await eventually(() => sent.received.includes('Monstera'));
  sent.socket.write(CONNECT);
  await readByService();
  sent.socket.write('x');
  await readByService();
  release();
  expect(await sent.statuses()).toEqual([200]);
  expect(sent.received).toContain('Ficus');
  // Longer than the test.
  await server.close(3_600_000);
});

test('nothing is read any more after garbage behind too many requests', async () => {
  const [request] = await parsedRequests(async () => {
    const { sent } = await sendHeld(`${read().repeat(40)}garbage\r\n\r\n`);
    for (let count = 0; count < 10; count++) {
      sent.socket.write('x'.repeat(100));
      await readByService();
    }
  });
  expect(request?.socket.bytesRead).toBeLessThan(read().length * 40 + 300);
});

describe('20,000 requests at once', () => {
  const FLOOD = read() + remove().repeat(20_000);

  test('get one response, have no other effect, and do not delay other clients', async () => {
    const { calls, release, sent } = await sendHeld(FLOOD);
    await readByService();
    await release();
    expect(await sent.statuses()).toEqual([200]);
    expect(calls).toEqual(['find']);
  });

  test.each([
    ['a large response that is read slowly', 0],
    ['one that they have come before, either', 1],
  ])('of which there are few take nothing from %s', async (_, before) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const name = 'x'.repeat(6_000_000);
    const find = async (id: bigint) => promise.then(() => ({ id, name }));
    server = await startApiServer({ plants: { ...fakePlants(), find }, bodyLimit: 10_000_000 });
    const socket = connectTo(server.url);
    async function write(times: number): Promise<void> {
      for (let count = 1; count <= times; count++) {
        socket.write(request('GET /plants/1'));
        await readByService();
      }
    }
    await write(1 + before);
    resolve();
    await new Promise((resolve) => socket.once('readable', resolve));
    await write(3);
    let length = 0;
    for await (const chunk of socket) length += (chunk as Buffer).length;
    expect(length).toBeGreaterThan(name.length);
  });

  test('are read no further than the packet after the one that shows that there are more', async () => {
    const { calls, store } = held();
    server = await startApiServer({ plants: store });
    const parsed = await parsedRequests(async () => {
      send(FLOOD);
      await eventually(() => calls.length === 1);
      for (let count = 0; count < 20; count++) await readByService();
    });
    // Node reads 64 KiB at once.
    expect(parsed.length).toBeLessThan((2 * 64 * 1024) / remove().length + 2);
  });
});
