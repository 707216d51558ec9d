import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { type ApiServer, startApiServer, TOKEN } from '../../support/api-server.ts';
import { eventually } from '../../support/eventually.ts';
import { fakePlants } from '../../support/fake-plants.ts';
import { connectTo } from '../../support/http-bytes.ts';
import { atEnd } from '../../support/lifetimes.ts';
import { rawRequest, requestText as request, statusesIn as statuses } from '../../support/raw-request.ts';

/* One request of a connection at a time: what comes before its response has been sent has no effect, and is refused. */

const BODY = '{"id":1,"name":"Monstera"}';
const CHANGED = '{"name":"Ficus"}';
const CLOSE = 'Connection: close\r\n';

const read = (lines = '') => request('GET /plants/1', '', lines);
const remove = (lines = '') => request('DELETE /plants/1', '', lines);

const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

let server: ApiServer;
/** Sends bytes. */
function send(bytes: string) {
  const socket = connectTo(server.url).setEncoding('utf8');
  atEnd(() => socket.destroy());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  let received = '';
  socket.on('data', (text: string) => (received += text));
  socket.write(bytes);
  return {
    socket,
    /** All that has come back. */
    received: () => received,
    /** Of all responses, once the connection is closed. */
    statuses: () => closed.then(() => statuses(received)),
  };
}

/** Sends bytes to a service whose store has a plant and notes its calls, each of which waits until the test releases it. */
async function sendHeld(bytes: string) {
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
  server = await startApiServer({ plants: { ...plants, add, find, replace, remove } });
  const sent = send(bytes);
  await eventually(() => calls.length === 1);
  return { calls, release: () => waiting.shift()?.(), sent };
}

/** Resolves when the service has read what other clients sent before, which it does in one turn of its event loop. */
async function readByService(): Promise<void> {
  expect(statuses(await rawRequest(server.url, request('GET /openapi.json', '', CLOSE)))).toEqual([200]);
}

test.each([
  ['in the same packet', read() + remove(), ''],
  ['in parts', read() + remove().slice(0, -1), '\n'],
  ['with a body that does not come', read(), request('POST /plants', BODY).slice(0, -1)],
  ['with more behind it', read(), remove().repeat(20)],
])('a request behind one in progress gets 503 in turn, and the connection closes: %s', async (_, first, more) => {
  const { calls, release, sent } = await sendHeld(first);
  sent.socket.write(more);
  await readByService();
  release();
  expect(await sent.statuses()).toEqual([200, 503]);
  expect(sent.received()).toMatch(/ 503 [\s\S]*\nRetry-After: 1\r[\s\S]*\nConnection: close\r[\s\S]*"error":50300/);
  expect(calls).toEqual(['find']);
});

test.each([
  ['garbage', 'garbage\r\n\r\n'],
  ['a CONNECT', CONNECT],
  ['more than a hundred others', remove().repeat(20_000)],
])('a connection with a request in progress is closed by %s, without other effects', async (_, more) => {
  const { calls, release, sent } = await sendHeld(read() + more);
  expect(await sent.statuses()).toEqual([]);
  release();
  await readByService();
  expect(calls).toEqual(['find']);
});

test('a client that sends the next request after the last octet is never refused', async () => {
  const name = 'x'.repeat(1_000_000);
  server = await startApiServer({ plants: fakePlants(new Map([[1n, { id: 1n, name }]])) });
  const socket = connectTo(server.url);
  atEnd(() => socket.destroy());
  for (let times = 1; times <= 20; times++) {
    socket.write(read());
    let received = '';
    while (!received.endsWith('"}')) received += ((await once(socket, 'data'))[0] as Buffer).toString('latin1');
    expect(statuses(received)).toEqual([200]);
  }
});

test.each([
  [
    'HTTP/2, as curl --http2 does',
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n',
  ],
  ['a WebSocket', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
])('a request that offers %s gets its response, which closes the connection', async (_, offer) => {
  const { calls, release, sent } = await sendHeld(read(offer) + request('PUT /plants/1', CHANGED));
  release();
  expect(await sent.statuses()).toEqual([200]);
  expect(sent.received()).toMatch(/^Connection: close\r$/m);
  expect(calls).toEqual(['find']);
});

/** Refused before its body comes. */
const REFUSED = request('POST /plants', BODY).replace(TOKEN, 'wrong').slice(0, -BODY.length);

test('a refused request whose body never comes gets no second response', async () => {
  server = await startApiServer({
    limits: { headersTimeout: 500, requestTimeout: 500, connectionsCheckingInterval: 10 },
  });
  const sent = send(REFUSED);
  expect(await sent.statuses()).toEqual([401]);
  expect(server.lines.map((line) => JSON.parse(line).status)).toEqual([401]);
});

test('the connection of a refused request stays open once its body has come', async () => {
  server = await startApiServer();
  const sent = send(REFUSED);
  await eventually(() => statuses(sent.received()).length === 1);
  sent.socket.write(BODY + read(CLOSE));
  expect(await sent.statuses()).toEqual([401, 404]);
});
