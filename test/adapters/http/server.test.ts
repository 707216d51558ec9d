import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import type { PlantRepository } from '../../../src/application/ports.ts';
import type { UseCases } from '../../../src/application/use-cases.ts';
import { type ApiServer, get, startApiServer } from '../../support/api-server.ts';
import { eventually } from '../../support/eventually.ts';
import { connectTo } from '../../support/http-bytes.ts';
import { atEnd, forAllTests } from '../../support/lifetimes.ts';
import { beginUpload, rawRequest, requestText, statusesIn } from '../../support/raw-request.ts';

/* What a client can do to a connection, and must not do to the service or to itself. */

const BODY = '{"id":1,"name":"Monstera"}';
const LAST = requestText('POST /plants', BODY, 'Connection: close\r\n');
const NOT_LAST = requestText('POST /plants', BODY);
const CHUNKED = requestText('POST /plants', '', 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n');
const LAST_CHUNKED = CHUNKED.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

const server = forAllTests(() => startApiServer());

/** The next request whose headers a service of this process has read. */
async function requestStart(): Promise<IncomingMessage> {
  const message = await new Promise((resolve) => {
    subscribe('http.server.request.start', resolve);
    atEnd(() => unsubscribe('http.server.request.start', resolve));
  });
  return (message as { request: IncomingMessage }).request;
}

test('a list with a CONNECT behind it gives its place back when its client leaves', async () => {
  const name = 'x'.repeat(1024 ** 2);
  const list: PlantRepository['list'] = async ({ from }) => {
    return { plants: [{ id: from, name }], next: from < 0n ? 1n : from };
  };
  const endless = await startApiServer({ plants: { list }, maxStreams: 1 });
  const request = `${requestText('GET /plants')}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`;
  const socket = connectTo(endless.url);
  socket.write(request);
  await once(socket, 'data');
  socket.destroy();
  await eventually(async () => {
    const { status, body } = await get(endless.url, '/plants');
    await body?.cancel();
    return status === 200;
  });
});

test('a CONNECT whose client resets the connection leaves the process alone', async () => {
  for (let n = 0; n < 50; n++) {
    const socket = connectTo(server.url);
    await once(socket, 'connect');
    socket.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', () => socket.resetAndDestroy());
    await once(socket, 'close');
  }
  expect(statusesIn(await rawRequest(server.url, LAST))).toEqual([200]);
});

test.each([
  ['after the time that a response may take', { responseTimeout: 100 }, () => {}],
  ['at the end of the time for stopping', {}, (stopping: ApiServer) => stopping.close(1)],
])('a connection whose client sends CONNECTs and reads nothing is closed %s', async (_when, limits, stop) => {
  const stopping = await startApiServer({ limits });
  const socket = connectTo(stopping.url);
  atEnd(() => socket.destroy());
  const begun = requestStart();
  socket.write(NOT_LAST);
  const served = (await begun).socket;
  await once(socket, 'readable');
  // As do the responses to many requests.
  served.write(Buffer.alloc(32 * 1024 ** 2));
  const sending = setInterval(() => socket.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'), 10);
  atEnd(() => clearInterval(sending));
  await eventually(() => stopping.lines.length === 2);
  void stop(stopping);
  await eventually(() => served.closed, 4_000);
});

test('dates also what only the parser reads, as RFC 9110 section 6.6.1 requires of every 4xx', async () => {
  const date = /^HTTP\/1\.1 400 [\s\S]*\r\nDate: (.*)\r\n/.exec(await rawRequest(server.url, 'hello\r\n\r\n'))?.[1];
  expect(Math.abs(Date.parse(date ?? '') - Date.now())).toBeLessThan(60_000);
});

test('while it stops, an idle connection stays open for a request that may be on its way', async () => {
  const stopping = await startApiServer();
  const socket = connectTo(stopping.url).setEncoding('utf8');
  socket.write(NOT_LAST);
  expect((await once(socket, 'data'))[0]).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: keep-alive/);
  const closed = stopping.close(60_000, 0);
  socket.write(NOT_LAST);
  expect((await once(socket, 'data'))[0]).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: close/);
  await closed;
});

test('while it stops for a person, it closes idle connections at once, whose clients have read what was sent', async () => {
  const stopping = await startApiServer();
  const [idle, unused] = [connectTo(stopping.url).setEncoding('utf8'), connectTo(stopping.url)];
  await once(unused, 'connect');
  idle.write(NOT_LAST);
  await eventually(() => stopping.lines.length === 1);
  const begun = await beginUpload(stopping.url);
  const closed = stopping.close(60_000);
  expect(await text(idle)).toMatch(/^HTTP\/1\.1 200 [\s\S]*{"name":"Monstera"}$/);
  expect(await text(unused)).toBe('');
  expect(statusesIn(await begun.finish())).toEqual([200]);
  await closed;
});

test('while it stops for a person, it closes a connection after the list that is being sent', async () => {
  const { promise: halfway, resolve } = Promise.withResolvers<void>();
  async function* others() {
    await halfway;
    yield [{ id: 2n, name: 'Ficus' }];
  }
  const listPlants: UseCases['listPlants'] = async () => ({
    first: [{ id: 1n, name: 'Monstera' }],
    others: others(),
    next: undefined,
  });
  const stopping = await startApiServer({ cases: { listPlants } });
  const socket = connectTo(stopping.url).setEncoding('utf8');
  socket.write(requestText('GET /plants'));
  const [begin] = await once(socket, 'data');
  const other = await beginUpload(stopping.url);
  const closed = stopping.close(60_000);
  resolve();
  expect(begin + (await text(socket))).toMatch(/^HTTP\/1\.1 200 [\s\S]*Monstera[\s\S]*Ficus[\s\S]*\r\n0\r\n\r\n$/);
  // Not because all connections were closed at the end.
  expect(statusesIn(await other.finish())).toEqual([200]);
  await closed;
});

test.each<[string, (socket: Socket) => unknown, number]>([
  ['whose client closes its side', (socket) => socket.end(), 400],
  ['that is malformed', (socket) => socket.write('zz\r\n'), 400],
  ['that does not go on', () => {}, 408],
])('while it stops for a person, it refuses a body %s', async (_, breakOff, status) => {
  const limits = { headersTimeout: 500, requestTimeout: 500, connectionsCheckingInterval: 10 };
  const stopping = await startApiServer({ limits });
  const socket = connectTo(stopping.url, true).setEncoding('utf8');
  socket.write(CHUNKED);
  await requestStart();
  const closed = stopping.close(60_000);
  breakOff(socket);
  expect(statusesIn(await text(socket))).toEqual([status]);
  socket.destroy();
  await closed;
});

test('reads no more than some requests once it has closed its side of a connection', async () => {
  const stopping = await startApiServer();
  const socket = connectTo(stopping.url, true).resume();
  atEnd(() => socket.destroy());
  socket.write(NOT_LAST);
  await once(socket, 'data');
  const closed = stopping.close(60_000);
  await once(socket, 'end');
  let begun = 0;
  const count = () => begun++;
  subscribe('http.server.request.start', count);
  atEnd(() => unsubscribe('http.server.request.start', count));
  const flood = setInterval(() => socket.write(NOT_LAST.repeat(10)), 1);
  atEnd(() => clearInterval(flood));
  await closed;
  expect(begun).toBeLessThan(1_000);
});

test('lets a client that expects 100 Continue go on, even if its body is there already', async () => {
  const expecting = requestText('POST /plants', BODY, 'Expect: 100-continue\r\nConnection: close\r\n');
  expect(statusesIn(await rawRequest(server.url, expecting))).toEqual([100, 200]);
});

test('does not ask a client of HTTP/1.0 for its body, which it would not understand', async () => {
  const old = LAST.replace('HTTP/1.1', 'HTTP/1.0').replace('Connection: close', 'Expect: 100-continue');
  const received = requestStart();
  const socket = connectTo(server.url).setEncoding('utf8');
  socket.write(old.slice(0, -BODY.length));
  await received;
  socket.write(BODY);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 [\s\S]*{"name":"Monstera"}$/);
});

test('takes a body in small pieces if there are not too many, and refuses it as too large otherwise', async () => {
  const inPieces = (count: number) =>
    `${LAST_CHUNKED}${'1\r\n \r\n'.repeat(count)}${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
  const { url } = await startApiServer();
  expect(await rawRequest(url, inPieces(900))).toMatch(/^HTTP\/1\.1 200 /);
  // Each piece takes memory.
  expect(await rawRequest(url, inPieces(1_100))).toMatch(
    /^HTTP\/1\.1 400 [\s\S]*{"error":40013,"message":"the body must not be sent in so many small chunks"}$/,
  );
});

test.each(['[::1]:3000', 'xn--bcher-kva.example:', 'a_b.example'])('accepts the Host %s', async (host) => {
  expect(await rawRequest(server.url, LAST.replace('localhost', host))).toMatch(/^HTTP\/1\.1 200 /);
});
