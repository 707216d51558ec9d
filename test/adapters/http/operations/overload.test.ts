import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import type { HttpServer } from '../../../../src/adapters/http/sockets/server.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { post, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { rawRequest } from '../../../support/raw-request.ts';

let server: HttpServer | undefined;
afterEach(() => server?.close(0));

/** A repository whose calls wait until the test lets them go. */
function heldPlants() {
  const held: (() => void)[] = [];
  return {
    held,
    plants: {
      add: (plant: NewPlant) => new Promise<NewPlant>((resolve) => held.push(() => resolve(plant))),
    },
  };
}

const POST = `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n`;

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate();
}

function connectTo(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname);
}

const plant = (id: number, name = 'x') => JSON.stringify({ id, name });

test('refuses at once what is more than may be under way, without asking the store, and recovers', async () => {
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, maxRequests: 2 });
  const { url } = server;
  const accepted = [post(url, plant(1)), post(url, plant(2))];
  while (held.length < 2) await setImmediate();

  const start = performance.now();
  const refused = await post(url, plant(3));
  expect(performance.now() - start).toBeLessThan(1_000);
  expect(refused.status).toBe(503);
  expect(refused.headers.get('Retry-After')).toBe('1');
  expect(await refused.json()).toEqual({
    error: 50300,
    message: 'the service is overloaded; sending the same request again is safe',
  });
  expect(held).toHaveLength(2);

  for (const release of held) release();
  expect((await Promise.all(accepted)).map(({ status }) => status)).toEqual([200, 200]);
  const again = post(url, plant(3));
  while (held.length < 3) await setImmediate();
  held[2]?.();
  expect((await again).status).toBe(200);
});

test('lets a client that it has refused wait a second unless there is room', async () => {
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, maxRequests: 1 });
  const accepted = post(server.url, plant(1));
  await until(() => held.length === 1);
  const socket = connectTo(server.url);
  const statuses: string[] = [];
  socket.on('data', (answer) => statuses.push(answer.toString('latin1', 9, 12)));
  const request = `${POST}Content-Length: ${plant(2).length}\r\n\r\n${plant(2)}`;
  const start = performance.now();
  socket.write(request);
  await until(() => statuses.length === 1);
  socket.write(request);
  await until(() => statuses.length === 2);
  expect(statuses).toEqual(['503', '503']);
  expect(performance.now() - start).toBeGreaterThan(900);

  socket.write(request);
  held[0]?.();
  await until(() => held.length === 2);
  held[1]?.();
  await until(() => statuses.length === 3);
  expect(statuses).toEqual(['503', '503', '200']);
  expect((await accepted).status).toBe(200);
  socket.destroy();
});

test('bounds the bytes of the bodies under way', async () => {
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, maxRequestBytes: 3_000 });
  const { url } = server;
  const accepted = post(url, plant(1, 'x'.repeat(2_000)));
  while (held.length < 1) await setImmediate();
  expect((await post(url, plant(2, 'x'.repeat(2_000)))).status).toBe(503);
  const small = post(url, plant(3));
  while (held.length < 2) await setImmediate();
  for (const release of held) release();
  expect((await accepted).status).toBe(200);
  expect((await small).status).toBe(200);
});

test('gives up a body that comes slowly when others find no place', async () => {
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, maxRequests: 1 });
  const { url } = server;
  const slow = rawRequest(url, `${POST}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n{"id":1`);
  let next: Response;
  do {
    const sending = post(url, plant(2));
    await Promise.race([sending, until(() => held.length === 1)]);
    for (const release of held) release();
    next = await sending;
  } while (next.status === 503);
  expect(next.status).toBe(200);
  expect(await slow).toMatch(
    /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 408 [\s\S]*{"error":40800,"message":"the service is /,
  );
});

test('keeps a request whose body has come, however long the store takes', async () => {
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, maxRequests: 1 });
  const accepted = post(server.url, plant(1));
  await until(() => held.length === 1);
  await setTimeout(200);
  expect((await post(server.url, plant(2))).status).toBe(503);
  held[0]?.();
  expect((await accepted).status).toBe(200);
});

test('lets a client that it has refused for the bytes of its body wait, too', async () => {
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, maxRequestBytes: 1_000 });
  const accepted = post(server.url, plant(1, 'x'.repeat(900)));
  await until(() => held.length === 1);
  const socket = connectTo(server.url);
  const body = plant(2, 'x'.repeat(200));
  const request = `${POST}Content-Length: ${body.length}\r\n\r\n${body}`;
  socket.write(request);
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 503 /);
  let answers = 0;
  socket.on('data', () => answers++);
  socket.write(request);
  await setTimeout(200);
  expect(answers).toBe(0);
  held[0]?.();
  expect((await accepted).status).toBe(200);
  socket.destroy();
});

test('refuses a bad token before it counts', async () => {
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, maxRequests: 1 });
  const accepted = post(server.url, plant(1));
  while (held.length < 1) await setImmediate();
  expect((await post(server.url, plant(2), { Authorization: 'Bearer wrong' })).status).toBe(401);
  held[0]?.();
  expect((await accepted).status).toBe(200);
});

test.each<[string, (socket: Socket) => unknown]>([
  ['its client closes', (socket) => socket.end()],
  ['its client resets', (socket) => socket.resetAndDestroy()],
  ['comes too slowly', () => {}],
])('takes the place back of an upload that %s', async (_name, giveUp) => {
  const limits = { requestTimeout: 500, headersTimeout: 400, connectionsCheckingInterval: 10 };
  server = await startApiServer({ maxRequests: 1, limits });
  const socket = connectTo(server.url).on('error', () => {});
  socket.write(`POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nExpect: 100-continue\r\n`);
  socket.write('Content-Type: application/json\r\nContent-Length: 100\r\n\r\n');
  await once(socket, 'data');
  giveUp(socket);
  // Until then it is refused: the test would end by its time.
  while ((await post(server.url, plant(1))).status !== 200);
});
