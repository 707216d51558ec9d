import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { management } from '../../../src/adapters/http/management.ts';
import { readiness } from '../../../src/adapters/http/readiness.ts';
import { serve } from '../../../src/adapters/http/server.ts';
import { CLOSE, startApiServer } from '../../support/api-server.ts';
import { connectTo } from '../../support/http-bytes.ts';
import { atEnd, forAllTests } from '../../support/lifetimes.ts';
import { beginUpload, rawRequest, requestStart, requestText, statusesIn } from '../../support/raw-request.ts';

/* What a client can do to a connection, and must not do to the service or to itself. */

const BODY = '{"id":1,"name":"Monstera"}';
const LAST = requestText('POST /plants', BODY, 'Connection: close\r\n');
const CHUNKED = requestText('POST /plants', '', 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n');

const server = forAllTests(() => startApiServer());

test('dates also what only the parser reads, as RFC 9110 section 6.6.1 requires', async () => {
  const date = /^HTTP\/1\.1 400 [\s\S]*\r\nDate: (.*)\r\n/.exec(await rawRequest(server.url, 'hello\r\n\r\n'))?.[1];
  expect(Math.abs(Date.parse(date ?? '') - Date.now())).toBeLessThan(60_000);
});

test('at :: takes connections of IPv4 and of IPv6', async () => {
  const log = pino({ enabled: false });
  const { url, close } = await serve(
    management(readiness({}), async () => '', '::', log),
    '::',
    0,
    log,
  );
  atEnd(() => close(0));
  for (const host of ['127.0.0.1', '[::1]']) {
    expect((await fetch(`${url.replace('localhost', host)}/live`, { headers: CLOSE })).status).toBe(200);
  }
});

test('while it stops, closes at the deadline what clients do not read or send', async () => {
  const plants = { find: async (id: bigint) => ({ id, name: 'x'.repeat(20_000_000) }) };
  const stopping = await startApiServer({ plants });
  const reading = connectTo(stopping.url);
  atEnd(() => reading.destroy());
  reading.write(requestText('GET /plants/1'));
  await once(reading, 'readable');
  const { socket } = await beginUpload(stopping.url);
  await stopping.close(100, 50);
  expect(await text(socket)).toBe('');
});

test('refuses a malformed body, whether it comes with its headers or after them', async () => {
  const refusal = /^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close\r\n[\s\S]*{"error":40001,/;
  expect(await rawRequest(server.url, `${CHUNKED}zz\r\n`)).toMatch(refusal);
  const begun = requestStart();
  const socket = connectTo(server.url).setEncoding('utf8');
  socket.write(CHUNKED);
  await begun;
  socket.write('zz\r\n');
  expect(await text(socket)).toMatch(refusal);
});

test('lets a client that expects 100 Continue go on, even if its body is there already', async () => {
  const expecting = requestText('POST /plants', BODY, 'Expect: 100-continue\r\nConnection: close\r\n');
  expect(statusesIn(await rawRequest(server.url, expecting))).toEqual([100, 200]);
});

test.each(['[::1]:3000', 'xn--bcher-kva.example:', 'a_b.example'])('accepts the Host %s', async (host) => {
  expect(await rawRequest(server.url, LAST.replace('localhost', host))).toMatch(/^HTTP\/1\.1 200 /);
});
