import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import type { PlantStore } from '../../../src/application/ports.ts';
import { get, startApiServer, startServer, TOKEN } from '../../support/api-server.ts';
import { eventually } from '../../support/eventually.ts';
import { connectTo } from '../../support/http-bytes.ts';
import { forAllTests } from '../../support/lifetimes.ts';
import { rawRequest, requestText, statusesIn } from '../../support/raw-request.ts';

/* What a client can do to a connection, and must not do to the service or to itself. */

const BODY = '{"id":1,"name":"Monstera"}';
const LAST = requestText('POST /plants', BODY, 'Connection: close\r\n');
const NOT_LAST = requestText('POST /plants', BODY);
const CHUNKED = requestText('POST /plants', '', 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n');
const LAST_CHUNKED = CHUNKED.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

const server = forAllTests(() => startApiServer({ bodyLimit: 1_000 }));

test('keeps idle connections longer than the 60 s of common proxies', async () => {
  const { headers } = await fetch(`${server.url}/openapi.json`);
  expect(Number(/^timeout=(\d+)$/.exec(headers.get('Keep-Alive') ?? '')?.[1])).toBeGreaterThan(60);
});

describe('a CONNECT behind a request whose response is not sent yet', () => {
  const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

  test('closes the connection, so that its list gives its place back', async () => {
    const name = 'x'.repeat(1024 ** 2);
    const scan: PlantStore['scan'] = async ({ from }) => {
      return { plants: [{ id: from, name }], lastId: from < 0n ? 1n : from, isLast: false };
    };
    const endless = await startApiServer({ plants: { scan }, maxStreams: 1 });
    const socket = connectTo(endless.url);
    socket.write(`${requestText('GET /plants')}${CONNECT}`);
    await eventually(async () => (await get(endless.url, '/plants?limit=1')).status === 200);
    const place = async () => {
      const response = await fetch(`${endless.url}/plants`, { headers: { Authorization: `Bearer ${TOKEN}` } });
      await response.body?.cancel();
      return response.status === 200;
    };
    await eventually(place);
  });

  test('does not hold up the end of the service', async () => {
    const stopping = await startApiServer();
    const socket = connectTo(stopping.url);
    socket.pause();
    socket.write(`${'GET /docs/swagger-ui.js HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(12)}${CONNECT}`);
    await eventually(() => stopping.lines.length > 0 || socket.destroyed || socket.readableLength > 0);
    await stopping.close(200);
  });
});

test('dates also what only the parser reads, as RFC 9110 section 6.6.1 requires of every 4xx', async () => {
  const date = /^HTTP\/1\.1 400 [\s\S]*\r\nDate: (.*)\r\n/.exec(await rawRequest(server.url, 'hello\r\n\r\n'))?.[1];
  expect(Math.abs(Date.parse(date ?? '') - Date.now())).toBeLessThan(60_000);
});

test('lets go of a refused client that keeps its side open', async () => {
  const socket = connectTo(server.url, true);
  socket.write('hello\r\n\r\n');
  await once(socket.resume(), 'end');
  // A write into a connection that the other side has let go of fails; into one that it keeps half open it would not.
  const failed = once(socket, 'error');
  const writing = setInterval(() => socket.write('x'), 10);
  await failed;
  clearInterval(writing);
});

test('reads the next request on a connection after a chunked body over the limit', async () => {
  const chunk = `7d0\r\n${'x'.repeat(2_000)}\r\n`;
  const socket = connectTo(server.url).setEncoding('utf8');
  socket.write(`${CHUNKED}${chunk}${chunk}0\r\n\r\n`);
  expect((await once(socket, 'data'))[0]).toMatch(/^HTTP\/1\.1 400 [\s\S]*"error":40013/);
  socket.write(LAST);
  expect(statusesIn(await text(socket))).toEqual([200]);
});

describe('while it stops', () => {
  test('an idle connection stays open for a request that may be on its way', async () => {
    const stopping = await startApiServer();
    const socket = connectTo(stopping.url).setEncoding('utf8');
    socket.write(NOT_LAST);
    expect((await once(socket, 'data'))[0]).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: keep-alive/);
    const closed = stopping.close(60_000);
    socket.write(NOT_LAST);
    expect((await once(socket, 'data'))[0]).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: close/);
    await closed;
  });

  test('a client reads its response to the end', async () => {
    const size = 64 * 1024 ** 2;
    const app = new Koa().use((ctx) => {
      ctx.body = Buffer.alloc(size);
    });
    const stopping = await startServer({ app });
    const response = await fetch(stopping.url, { headers: { Connection: 'close' } });
    const closed = stopping.close(60_000);
    expect((await response.arrayBuffer()).byteLength).toBe(size);
    await closed;
  });
});

/** The next request that arrives, once the server has its headers. */
function nextRequest(): Promise<IncomingMessage> {
  return new Promise((resolve) => {
    subscribe('http.server.request.start', function received(message) {
      unsubscribe('http.server.request.start', received);
      resolve((message as { request: IncomingMessage }).request);
    });
  });
}

test('keeps nothing of a request while its connection is idle', async () => {
  const received = nextRequest();
  const socket = connectTo(server.url);
  socket.write(NOT_LAST);
  await once(socket, 'data');
  const request = await received;
  // Node lets go of it then.
  await eventually(() => request.closed, 5_000);
  socket.destroy();
});

test('lets a client that expects 100 Continue go on, even if its body is there already', async () => {
  const expecting = requestText('POST /plants', BODY, 'Expect: 100-continue\r\nConnection: close\r\n');
  expect(statusesIn(await rawRequest(server.url, expecting))).toEqual([100, 200]);
});

test('does not ask a client of HTTP/1.0 for its body, which it would not understand', async () => {
  const old = LAST.replace('HTTP/1.1', 'HTTP/1.0').replace('Connection: close', 'Expect: 100-continue');
  const received = nextRequest();
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
