import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import Koa, { type Middleware } from 'koa';
import { startApiServer, startServer } from '../../support/api-server.ts';
import { connectTo } from '../../support/http-bytes.ts';
import { atEnd } from '../../support/lifetimes.ts';
import { requestText } from '../../support/raw-request.ts';

/* How many connections, and answers that nobody reads, the service puts up with. */

const POST = requestText('POST /plants', '{"id":1,"name":"Monstera"}');
const GET = requestText('GET /');

/** Serves an app that waits for its clients for 200 ms. */
const startWith = (respond: Middleware) =>
  startServer({ app: new Koa().use(respond) }, undefined, { responseTimeout: 200 });

async function open(url: string): Promise<Socket> {
  const socket = connectTo(url).setEncoding('utf8');
  atEnd(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Resolves once the service has closed it, in order or not. */
const closing = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()));

/** Sends a request and resolves to the status of its answer. */
async function statusOf(socket: Socket, request: string): Promise<string> {
  socket.write(request);
  const [answer] = await once(socket, 'data');
  return answer.split(' ')[1];
}

test('closes further connections when there are too many, and says so once', async () => {
  const { url, lines } = await startApiServer({ limits: { maxConnections: 2 } });
  const kept = [await open(url), await open(url)];
  for (let times = 1; times <= 3; times++) await closing((await open(url)).resume());
  for (const socket of kept) expect(await statusOf(socket, POST)).toBe('200');
  expect(lines.filter((line) => line.includes('too many connections'))).toHaveLength(1);
  const closed = closing(kept[0] as Socket);
  kept[0]?.end();
  await closed;
  expect(await statusOf(await open(url), POST)).toBe('200');
});

test('leaves a connection alone on which the service itself takes its time', async () => {
  const { url } = await startWith(async (ctx) => {
    await setTimeout(600);
    ctx.body = 'x';
  });
  expect(await statusOf(await open(url), GET)).toBe('200');
});
