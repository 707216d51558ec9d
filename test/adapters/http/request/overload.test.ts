import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, expect, jest, test } from '@jest/globals';
import type { HttpServer } from '../../../../src/adapters/http/sockets/server.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { post, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { connectTo, rawRequest } from '../../../support/raw-request.ts';

let server: HttpServer | undefined;
afterEach(() => {
  jest.restoreAllMocks();
  return server?.close(0);
});

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

/** Gives up before Jest does, so that no loop outlives a test that fails. */
const until = (condition: () => boolean) => eventually(condition, 20_000);

/** Its failure would end Jest before it says which test has failed, and left it behind. */
function begin(...request: Parameters<typeof post>): Promise<Response> {
  const response = post(...request);
  response.catch(() => {});
  return response;
}

const plant = (id: number, name = 'x') => JSON.stringify({ id, name });

test('refuses at once what is more than may be under way, without asking the store, and recovers', async () => {
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, maxRequests: 2 });
  const { url } = server;
  const accepted = [begin(url, plant(1)), begin(url, plant(2))];
  await until(() => held.length === 2);

  const refused = await post(url, plant(3));
  expect(refused.status).toBe(503);
  expect(refused.headers.get('Retry-After')).toBe('1');
  expect(await refused.json()).toEqual({
    error: 50300,
    message: 'the service is overloaded; sending the same request again is safe',
  });
  expect(held).toHaveLength(2);

  for (const release of held) release();
  expect((await Promise.all(accepted)).map(({ status }) => status)).toEqual([200, 200]);
  const again = begin(url, plant(3));
  await until(() => held.length === 3);
  held[2]?.();
  expect((await again).status).toBe(200);
});

test.each([
  ['there are too many requests', { maxRequests: 1 }, ['x', 'x']],
  ['there are too many bytes', { maxRequestBytes: 1_000 }, ['x'.repeat(900), 'x'.repeat(200)]],
] as const)('lets a client wait a second that it has refused because %s, unless there is room', async (...row) => {
  const [_name, limits, [first, second]] = row;
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, ...limits });
  const accepted = begin(server.url, plant(1, first));
  await until(() => held.length === 1);
  const socket = connectTo(server.url);
  const statuses: string[] = [];
  socket.on('data', (response) => statuses.push(response.toString('latin1', 9, 12)));
  const body = plant(2, second);
  const request = `${POST}Content-Length: ${body.length}\r\n\r\n${body}`;
  const start = performance.now();
  socket.write(request);
  await until(() => statuses.length === 1);
  socket.write(request);
  await until(() => statuses.length === 2);
  expect(statuses).toEqual(['503', '503']);
  expect(performance.now() - start).toBeGreaterThan(900);

  socket.write(request);
  const release = performance.now();
  held[0]?.();
  await until(() => held.length === 2);
  expect(performance.now() - release).toBeLessThan(900);
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
  const accepted = begin(url, plant(1, 'x'.repeat(2_000)));
  await until(() => held.length === 1);
  expect((await post(url, plant(2, 'x'.repeat(2_000)))).status).toBe(503);
  const small = begin(url, plant(3));
  await until(() => held.length === 2);
  for (const release of held) release();
  expect((await accepted).status).toBe(200);
  expect((await small).status).toBe(200);
});

test('counts a chunked body as BODY_LIMIT until it has come', async () => {
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, bodyLimit: 2_000, maxRequestBytes: 3_000 });
  const { url } = server;
  const chunked = connectTo(url);
  chunked.write(`${POST}Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n`);
  await once(chunked, 'data');
  // Otherwise the body would soon count as slow, and make room for others.
  jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  const large = plant(2, 'x'.repeat(1_500));
  expect((await post(url, large)).status).toBe(503);
  const small = plant(1);
  chunked.write(`${small.length.toString(16)}\r\n${small}\r\n0\r\n\r\n`);
  await until(() => held.length === 1);
  const accepted = begin(url, large);
  await until(() => held.length === 2);
  for (const release of held) release();
  expect((await accepted).status).toBe(200);
  chunked.destroy();
});

test('gives up a body that comes slowly when others find no place', async () => {
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, maxRequests: 1 });
  const { url } = server;
  const slow = rawRequest(url, `${POST}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n{"id":1`);
  let next: Response;
  do {
    const sending = begin(url, plant(2));
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
  const accepted = begin(server.url, plant(1));
  await until(() => held.length === 1);
  jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000);
  expect((await post(server.url, plant(2))).status).toBe(503);
  held[0]?.();
  expect((await accepted).status).toBe(200);
});

test('refuses a bad token before it counts', async () => {
  const { held, plants } = heldPlants();
  server = await startApiServer({ plants, maxRequests: 1 });
  const accepted = begin(server.url, plant(1));
  await until(() => held.length === 1);
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
  // Otherwise the upload would soon count as slow, and make room for others whether or not it has ended.
  jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  const socket = connectTo(server.url);
  socket.write(`POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nExpect: 100-continue\r\n`);
  socket.write('Content-Type: application/json\r\nContent-Length: 100\r\n\r\n');
  await once(socket, 'data');
  expect((await post(server.url, plant(1))).status).toBe(503);
  giveUp(socket);
  // Until then it is refused.
  const { url } = server;
  await eventually(async () => (await post(url, plant(1))).status === 200, 20_000);
});
