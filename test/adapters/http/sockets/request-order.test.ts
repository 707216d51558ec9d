import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { MAX_WAITING } from '../../../../src/adapters/http/sockets/request-order.ts';
import type { Ports, UseCases } from '../../../../src/application/use-cases.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { type ApiServer, get, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { connectTo } from '../../../support/http-bytes.ts';
import { atEnd } from '../../../support/lifetimes.ts';
import { rawRequest, requestText as request, statusesIn as statuses } from '../../../support/raw-request.ts';

/* Requests of one connection, sent without waiting for responses, take effect one after another, in their order. */

const BODY = '{"id":1,"name":"Monstera"}';
const CHANGED = '{"name":"Ficus"}';
const CLOSE = 'Connection: close\r\n';

const CHUNKED = request('POST /plants', '', `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n${CLOSE}`);

const read = (lines = '') => request('GET /plants/1', '', lines);
const remove = (lines = '') => request('DELETE /plants/1', '', lines);

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
  const store: Ports = { ...plants, add, find, replace, remove };
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

describe('requests of one connection', () => {
  test('take effect in their order, whatever their methods', async () => {
    const plants = fakePlants();
    // Reading overtakes writing where it can.
    const add: Ports['add'] = async (plant) => {
      await setImmediate();
      return plants.add(plant);
    };
    server = await startApiServer({ plants: { ...plants, add } });
    for (let id = 1; id <= 100; id++) {
      const target = `/plants/${id}`;
      const responses = await rawRequest(
        server.url,
        request('POST /plants', `{"id":${id},"name":"Monstera"}`) +
          request(`GET ${target}`) +
          request(`PUT ${target}`, CHANGED) +
          request(`GET ${target}`) +
          request(`DELETE ${target}`) +
          request(`GET ${target}`, '', CLOSE),
      );
      expect(statuses(responses)).toEqual([200, 200, 200, 200, 204, 410]);
      const names = [...responses.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name);
      expect(names).toEqual(['Monstera', 'Monstera', 'Ficus', 'Ficus']);
    }
  });

  test('begin one at a time: the next one when the response before it has been sent', async () => {
    const { calls, release, sent } = await sendHeld(read() + request('PUT /plants/1', CHANGED) + remove(CLOSE));
    for (const begun of [['find'], ['find', 'replace'], ['find', 'replace', 'remove']]) {
      await eventually(() => calls.length === begun.length);
      await readByService();
      expect(calls).toEqual(begun);
      expect(statuses(sent.received)).toHaveLength(begun.length - 1);
      await release();
    }
    expect(await sent.statuses()).toEqual([200, 200, 204]);
  });

  test('hold no place while they wait', async () => {
    const { calls, release, sent } = await sendHeld(read() + read() + read(CLOSE), { maxRequests: 2 });
    const other = get(server.url, '/plants/1');
    await eventually(() => calls.length === 2);
    for (let count = 0; count < 4; count++) await release();
    expect((await other).status).toBe(200);
    expect(await sent.statuses()).toEqual([200, 200, 200]);
  });

  test.each([
    ['of a declared length', request('POST /plants', BODY, CLOSE).slice(0, -BODY.length), BODY],
    ['in chunks', CHUNKED, `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`],
  ])('have no byte of their bodies read while they wait: %s', async (_what, head, body) => {
    const { calls, store, release } = held();
    server = await startApiServer({ plants: store });
    const sent = send('');
    const [, waiting] = await parsedRequests(async () => {
      sent.socket.write(read() + head);
      await eventually(() => calls.length === 1);
      await readByService();
      sent.socket.write(body);
      for (let count = 0; count < 5; count++) await readByService();
    });
    expect(waiting).toMatchObject({ method: 'POST', readableLength: 0, complete: false });
    await release();
    await release();
    expect(await sent.statuses()).toEqual([200, 200]);
  });

  test('get their responses although the client has closed its side', async () => {
    server = await startApiServer();
    const socket = connectTo(server.url, true).setEncoding('utf8');
    socket.end(request('POST /plants', BODY) + read().repeat(MAX_WAITING));
    expect(statuses(await text(socket))).toEqual(Array.from({ length: MAX_WAITING + 1 }, () => 200));
  });

  test('end with the last that may wait, whose response says so, if more come; none of these begins', async () => {
    const { calls, release, sent } = await sendHeld(read().repeat(MAX_WAITING + 1) + remove().repeat(5));
    sent.socket.write(remove());
    await readByService();
    for (let count = 0; count <= MAX_WAITING; count++) await release();
    expect(await sent.statuses()).toEqual(Array.from({ length: MAX_WAITING + 1 }, () => 200));
    const connections = [...sent.received.matchAll(/^Connection: (.*)\r$/gm)].map(([, value]) => value);
    expect(connections).toEqual([...Array.from({ length: MAX_WAITING }, () => 'keep-alive'), 'close']);
    expect(new Set(calls)).toEqual(new Set(['find']));
  });

  test('are not read while as many wait as may, so that what comes later has its turn', async () => {
    const { release, sent } = await sendHeld(read().repeat(MAX_WAITING + 1));
    await readByService();
    sent.socket.write(read(CLOSE));
    await readByService();
    for (let count = 0; count < MAX_WAITING + 2; count++) await release();
    expect(await sent.statuses()).toEqual(Array.from({ length: MAX_WAITING + 2 }, () => 200));
  });

  test('never begin behind a response that closes the connection', async () => {
    const { calls, release, sent } = await sendHeld(read() + remove() + remove());
    await readByService();
    const closed = server.close(60_000);
    await release();
    await closed;
    expect(await sent.statuses()).toEqual([200]);
    expect(sent.received).toMatch(/^Connection: close\r$/m);
    expect(calls).toEqual(['find']);
  });

  test('never begin once the client has reset the connection', async () => {
    const { calls, release, sent } = await sendHeld(read() + read() + remove() + remove());
    await release();
    await eventually(() => calls.length === 2);
    sent.socket.resetAndDestroy();
    await eventually(() => server.lines.some((line) => line.includes('"aborted":true')));
    await release();
    await readByService();
    expect(calls).toEqual(['find', 'find']);
  });
});

describe('time', () => {
  const limits = { headersTimeout: 500, requestTimeout: 500, connectionsCheckingInterval: 10 };
  /** Resolves after the limits above, when a request that came at the same time was refused. */
  const timeIsUp = () => rawRequest(server.url, request('POST /plants', BODY).slice(0, -1));

  test.each([
    ['body', request('POST /plants', BODY)],
    ['headers', remove()],
  ])('is up for a request whose %s do not come, after those in front of it have their responses', async (_, part) => {
    const { calls, release, sent } = await sendHeld(read() + read() + part.slice(0, -1), { limits });
    expect(statuses(await timeIsUp())).toEqual([408]);
    expect(sent.received).toBe('');
    await release();
    await release();
    expect(await sent.statuses()).toEqual([200, 200, 408]);
    expect(calls).toEqual(['find', 'find']);
  });

  test('that is up cuts no response that is being sent', async () => {
    const rest = Promise.withResolvers<void>();
    async function* plants() {
      yield [{ id: 1n, name: 'Monstera' }];
      await rest.promise;
      yield [{ id: 2n, name: 'Ficus' }];
    }
    const listPlants: UseCases['listPlants'] = async () => ({ first: [], others: plants(), next: undefined });
    server = await startApiServer({ cases: { listPlants }, limits });
    const sent = send(request('GET /plants') + remove().slice(0, -1));
    expect(statuses(await timeIsUp())).toEqual([408]);
    await eventually(() => sent.received.includes('Monstera'));
    rest.resolve();
    expect(await sent.statuses()).toEqual([200, 408]);
    expect(sent.received).toContain('Ficus');
  });
});

describe('a request that was refused before its body came', () => {
  const limits = { headersTimeout: 100, requestTimeout: 100, connectionsCheckingInterval: 10 };
  const refused = request('POST /plants', BODY).replace(TOKEN, 'wrong').slice(0, -BODY.length);

  test('gets no second response when its body never comes: its connection is closed', async () => {
    server = await startApiServer({ limits });
    const sent = send(refused);
    expect(await sent.statuses()).toEqual([401]);
    expect(server.lines.map((line) => JSON.parse(line).status)).toEqual([401]);
  });

  test('gets none when what comes is no body either', async () => {
    server = await startApiServer();
    const sent = send(refused.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked'));
    await eventually(() => statuses(sent.received).length === 1);
    sent.socket.write('garbage');
    expect(await sent.statuses()).toEqual([401]);
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

  test('may have a body, and wait behind others', async () => {
    server = await startApiServer();
    const create = request('POST /plants', BODY, offer);
    expect(statuses(await rawRequest(server.url, create))).toEqual([200]);
    const sent = send(create.slice(0, -BODY.length));
    await readByService();
    sent.socket.write(BODY);
    expect(await sent.statuses()).toEqual([200]);
    const behind = request('POST /plants', BODY) + read() + read(offer);
    expect(statuses(await rawRequest(server.url, behind))).toEqual([200, 200, 200]);
  });
});

test('what cannot be read is refused after all requests in front of it', async () => {
  const { release, sent } = await sendHeld(`${read()}${remove()}garbage\r\n\r\n`);
  await readByService();
  expect(sent.received).toBe('');
  await release();
  await release();
  expect(await sent.statuses()).toEqual([200, 204, 400]);
  expect(sent.received).toMatch(/{"error":40001,"message":"[^"]+"}$/);
});

test('a waiting request whose body cannot be read is refused in its turn', async () => {
  const chunked = request('POST /plants', '', 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n');
  const { calls, release, sent } = await sendHeld(`${read()}${chunked}zz\r\n`);
  await readByService();
  await release();
  expect(await sent.statuses()).toEqual([200, 400]);
  expect(calls).toEqual(['find']);
});

describe('a deletion whose body, which it needs not, cannot be read', () => {
  const chunked = request('DELETE /plants/1', '', 'Transfer-Encoding: chunked\r\n');

  test('does not take effect if it is refused', async () => {
    const plants = fakePlants(new Map([[1n, { id: 1n, name: 'Monstera' }]]));
    server = await startApiServer({ plants });
    expect(statuses(await rawRequest(server.url, `${chunked}zz\r\n`))).toEqual([400]);
    expect((await get(server.url, '/plants/1')).status).toBe(200);
  });

  test.each<[string, (socket: Socket) => unknown]>([
    ['is none', (socket) => socket.write('zz\r\n')],
    ['ends too early', (socket) => socket.end('5\r\nabc')],
  ])('gets its response if it has begun, since it takes effect: its body %s', async (_what, send) => {
    const { release, sent } = await sendHeld(chunked);
    send(sent.socket);
    await readByService();
    expect(sent.received).toBe('');
    await release();
    expect(await sent.statuses()).toEqual([204]);
  });
});

describe('20,000 requests at once', () => {
  const FLOOD = read().repeat(20_000);

  test('get 17 responses, and do not delay other clients, whose requests come in between', async () => {
    server = await startApiServer();
    const sent = send(FLOOD);
    expect((await get(server.url, '/plants/1')).status).toBe(404);
    expect(await sent.statuses()).toEqual(Array.from({ length: MAX_WAITING + 1 }, () => 404));
  });

  test.each([
    ['an upgrade', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['a CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('get 17 responses also if %s is among those that are not parsed', async (_what, last) => {
    const { calls, release, sent } = await sendHeld(`${read().repeat(MAX_WAITING + 2)}${last}`);
    await readByService();
    for (let done = 0; done <= MAX_WAITING; done++) {
      await eventually(() => calls.length === done + 1);
      await release();
    }
    expect(await sent.statuses()).toEqual(Array.from({ length: MAX_WAITING + 1 }, () => 200));
  });

  test('are parsed no further than those that may wait, and one more, which shows that there are more', async () => {
    const { calls, store } = held();
    server = await startApiServer({ plants: store });
    const parsed = await parsedRequests(async () => {
      send(FLOOD);
      await eventually(() => calls.length === 1);
      for (let count = 0; count < 20; count++) await readByService();
    });
    // The one in progress comes first.
    expect(parsed.length).toBe(1 + MAX_WAITING + 1);
  });
});
