import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { type ServedApp, serve } from '../../../../src/adapters/http/sockets/server.ts';
import { startApiServer, TOKEN } from '../../../support/api-server.ts';
import { connectTo } from '../../../support/raw-request.ts';

/* How many connections, and answers that nobody reads, the service puts up with. */

const PLANT = '{"id":1,"name":"Monstera"}';
const POST = [
  'POST /plants HTTP/1.1',
  'Host: localhost',
  `Authorization: Bearer ${TOKEN}`,
  'Content-Type: application/json',
  `Content-Length: ${PLANT.length}`,
  '',
  PLANT,
].join('\r\n');

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function start(options: Parameters<typeof startApiServer>[0]) {
  const server = await startApiServer(options);
  cleanUps.push(() => server.close(0));
  return server.url;
}

/** Serves an app that waits for its clients for 50 ms. */
async function startWith(handle: ServedApp['handle']): Promise<string> {
  const app = { handle, logExchange() {}, freeSlots: () => 1 };
  const server = await serve(app, '127.0.0.1', 0, pino({ level: 'silent' }), { responseTimeout: 50 });
  cleanUps.push(() => server.close(0));
  return server.url;
}

async function open(url: string): Promise<Socket> {
  const socket = connectTo(url).setEncoding('utf8');
  cleanUps.push(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Resolves once the service has closed it, in order or not. */
function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

/** Sends a request and resolves to the status of its answer. */
async function statusOf(socket: Socket, request: string): Promise<string> {
  socket.write(request);
  const [answer] = await once(socket, 'data');
  return answer.split(' ')[1];
}

async function openTrusted(url: string): Promise<Socket> {
  const socket = await open(url);
  expect(await statusOf(socket, POST)).toBe('200');
  return socket;
}

async function openStranger(url: string): Promise<Socket> {
  const socket = await open(url);
  expect(await statusOf(socket, POST.replace(TOKEN, 'wrong'))).toBe('401');
  return socket;
}

test('closes the oldest connection without a good token when there are too many, and says so once', async () => {
  const log: string[] = [];
  const url = await start({ limits: { maxConnections: 3 }, onLog: (line) => log.push(line) });
  const trusted = await openTrusted(url);
  const strangers = [await openStranger(url), await openStranger(url)];
  for (const oldest of strangers) {
    const closed = closing(oldest);
    await openStranger(url);
    await closed;
  }
  expect(await statusOf(trusted, POST)).toBe('200');
  expect(log.filter((line) => line.includes('too many connections'))).toHaveLength(1);
});

test('closes a new connection when all others have shown a good token', async () => {
  const url = await start({ limits: { maxConnections: 2 } });
  const trusted = [await openTrusted(url), await openTrusted(url)];
  await closing((await open(url)).resume());
  for (const socket of trusted) expect(await statusOf(socket, POST)).toBe('200');
  const closed = closing(trusted[0] as Socket);
  trusted[0]?.end();
  await closed;
  await openTrusted(url);
});

test('closes a connection whose client leaves an answer unread', async () => {
  const url = await startWith(async ({ response }) => void response.end(Buffer.alloc(64 * 1024 ** 2)));
  const socket = await open(url);
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const closed = closing(socket);
  // A write into a connection that the other side has let go of fails.
  const writing = setInterval(() => socket.write('x'), 10);
  await closed;
  clearInterval(writing);
});

test('leaves a connection alone on which the service itself takes its time', async () => {
  const url = await startWith(async ({ response }) => {
    await setTimeout(200);
    response.end('x');
  });
  expect(await statusOf(await open(url), 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')).toBe('200');
});

test('outlives a connection that is kept open for too long', async () => {
  const url = await start({ limits: { keepAliveTimeout: 1 } });
  const socket = await openTrusted(url);
  await closing(socket);
  await openTrusted(url);
});
