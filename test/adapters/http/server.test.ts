import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { HttpServer } from '../../../src/adapters/http/server.ts';
import { post, startApiServer, TOKEN } from '../../support/api-server.ts';
import { rawRequest } from '../../support/raw-request.ts';

/* What a client can do to a connection, and must not do to the service or to itself. */

const BODY = '{"id":1,"name":"Monstera"}';
const HEAD = [
  'POST /plants HTTP/1.1',
  'Host: localhost',
  `Authorization: Bearer ${TOKEN}`,
  'Content-Type: application/json',
].join('\r\n');
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

test.each([
  ['two Host headers', 'Host: a\r\nHost: a'],
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
