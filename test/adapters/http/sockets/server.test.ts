import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../../../../src/adapters/http/sockets/server.ts';
import { post, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { rawRequest } from '../../../support/raw-request.ts';

/* What a client can do to a connection, and must not do to the service or to itself. */

const BODY = '{"id":1,"name":"Monstera"}';
const HEAD = [
  'POST /plants HTTP/1.1',
  'Host: localhost',
  `Authorization: Bearer ${TOKEN}`,
  'Content-Type: application/json',
].join('\r\n');
const LAST_CHUNKED = `${HEAD}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`;
const LAST = `${HEAD}\r\nConnection: close\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

let server: HttpServer;
beforeAll(async () => {
  server = await startApiServer({ bodyLimit: 1_000 });
});
afterAll(() => server.close(0));

test('survives clients that reset the connection of a CONNECT', async () => {
  const { hostname, port } = new URL(server.url);
  for (let n = 0; n < 50; n++) {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise(setImmediate);
    socket.resetAndDestroy();
  }
  expect((await post(server.url, BODY)).status).toBe(200);
});

test('lets go of a refused client that keeps its side open', async () => {
  const { hostname, port } = new URL(server.url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  socket.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket.resume(), 'end');
  // A write into a connection that the other side has let go of fails; into one that it keeps half open it would not.
  const failed = once(socket, 'error');
  const writing = setInterval(() => socket.write('x'), 10);
  await failed;
  clearInterval(writing);
});

test('reads the next request on a connection after a chunked body over the limit', async () => {
  const chunk = `7d0\r\n${'x'.repeat(2_000)}\r\n`;
  const tooLarge = `${HEAD}\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${chunk}0\r\n\r\n`;
  const answers = await rawRequest(server.url, tooLarge + LAST);
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200']);
  expect(answers).toContain('"error":40013');
});

test('answers a client that has closed its side after the request', async () => {
  const { hostname, port } = new URL(server.url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true }).setEncoding('utf8');
  socket.end(LAST.replace('Connection: close\r\n', ''));
  let answer = '';
  for await (const text of socket) answer += text;
  expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*{"name":"Monstera"}$/);
});

test('answers each request in front of something that cannot be read, and that too', async () => {
  const good = LAST.replace('Connection: close\r\n', '');
  const answers = await rawRequest(server.url, `${good}${good}garbage\r\n\r\n`);
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400']);
  expect(answers).toMatch(/{"error":40001,"message":"[^"]+"}$/);
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

/** Sends the body once the server has the headers. */
async function sendInTwo(request: string): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const received = nextRequest();
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  socket.write(request.slice(0, -BODY.length));
  await received;
  socket.write(BODY);
  let answer = '';
  for await (const text of socket) answer += text;
  return answer;
}

test('answers the same whether a body comes with its headers or after them', async () => {
  expect(await sendInTwo(LAST)).toMatch(/^HTTP\/1\.1 200 [\s\S]*{"name":"Monstera"}$/);
  expect(await rawRequest(server.url, LAST)).toMatch(/^HTTP\/1\.1 200 [\s\S]*{"name":"Monstera"}$/);
});

test('keeps nothing of a request while its connection is idle', async () => {
  const { hostname, port } = new URL(server.url);
  const received = nextRequest();
  const socket = connect(Number(port), hostname);
  socket.write(LAST.replace('Connection: close\r\n', ''));
  await once(socket, 'data');
  const request = await received;
  // Node lets go of it then.
  await eventually(() => request.closed, 5_000);
  socket.destroy();
});

test('lets a client that expects 100 Continue go on, even if its body is there already', async () => {
  const good = LAST.replace('Connection: close\r\n', '');
  const answers = await rawRequest(server.url, good.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n') + LAST);
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200', 'HTTP/1.1 200']);
});

test('does not ask a client of HTTP/1.0 for its body, which it would not understand', async () => {
  const old = LAST.replace('HTTP/1.1', 'HTTP/1.0').replace('Connection: close', 'Expect: 100-continue');
  expect(await sendInTwo(old)).toMatch(/^HTTP\/1\.1 200 /);
});

describe('a body in small pieces', () => {
  const inPieces = (count: number) =>
    `${LAST_CHUNKED}${'1\r\n \r\n'.repeat(count)}${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

  test('is taken if there are not too many', async () => {
    expect(await rawRequest(server.url, inPieces(900))).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('is refused as too large otherwise, since each takes memory', async () => {
    const roomy = await startApiServer();
    const answer = await rawRequest(roomy.url, inPieces(1_100));
    await roomy.close(0);
    expect(answer).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*{"error":40013,"message":"the body must not be sent in so many small chunks"}$/,
    );
  });
});

test.each([
  ['two Host headers', 'Host: a\r\nHost: a'],
  ['a second Host behind many headers', `Host: a\r\n${'a:\r\n'.repeat(190)}Host: b`],
  ['a Host that is none', 'Host: a b'],
  ['a Host with a path', 'Host: a/b'],
  ['an encoded body', 'Host: a\r\nTransfer-Encoding: gzip, chunked'],
])('refuses %s as malformed', async (_name, lines) => {
  const answer = await rawRequest(server.url, `POST /plants HTTP/1.1\r\n${lines}\r\nConnection: close\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toContain('"error":40001');
});

test.each(['localhost', 'localhost:3000', '127.0.0.1:80', '[::1]:3000', 'xn--bcher-kva.example:', 'a_b.example'])(
  'accepts the Host %s',
  async (host) => {
    expect(await rawRequest(server.url, LAST.replace('localhost', host))).toMatch(/^HTTP\/1\.1 200 /);
  },
);
