import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { post, refusalOf, startApiServer } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { connectTo } from '../../../support/http-bytes.ts';
import { atEnd } from '../../../support/lifetimes.ts';
import { beginUpload, requestText } from '../../../support/raw-request.ts';

/* How much the service puts up with at once. */

const plant = (id: number) => JSON.stringify({ id, name: 'x' });

/** Serves a repository whose calls wait until the test lets them go. */
async function start(options: Parameters<typeof startApiServer>[0]) {
  const held: (() => void)[] = [];
  const add = (plant: NewPlant) => new Promise<NewPlant>((resolve) => held.push(() => resolve(plant)));
  const { url } = await startApiServer({ plants: { add }, ...options });
  /** Gives up before Jest does, so that no loop outlives a test that fails. */
  const isHeld = (count: number) => eventually(() => held.length === count, 20_000);
  return {
    url,
    held,
    isHeld,
    /** Creates a plant, once it is held. */
    async begin(body: string) {
      const count = held.length + 1;
      const response = post(url, body);
      // Its failure would end Jest before it says which test has failed, and left it behind.
      response.catch(() => {});
      await isHeld(count);
      return { status: async () => (await response).status };
    },
  };
}

test('refuses more than may be under way, without asking the store, and recovers', async () => {
  const { held, url, begin } = await start({ maxRequests: 2 });
  const both = [await begin(plant(1)), await begin(plant(2))];

  const refused = await post(url, plant(3));
  expect(refused.headers.get('Retry-After')).toBe('1');
  const message = 'the service is overloaded; sending the same request again is safe';
  expect(await refusalOf(refused)).toEqual([503, 50300, message]);
  expect((await post(url, plant(3), { Authorization: 'Bearer wrong' })).status).toBe(401);
  expect(held).toHaveLength(2);

  for (const release of held) release();
  expect(await Promise.all(both.map(({ status }) => status()))).toEqual([200, 200]);
  const again = await begin(plant(3));
  held[2]?.();
  expect(await again.status()).toBe(200);
});

test('counts a chunked body as its limit, which it gives back', async () => {
  const { held, isHeld, url, begin } = await start({ maxRequestBytes: 100_000 });
  const chunked = await open(url);
  const lines = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n';
  chunked.write(requestText('POST /plants', '', lines));
  await once(chunked, 'data');
  const large = plant(2).padEnd(60_000);
  expect((await post(url, large)).status).toBe(503);
  const small = plant(1);
  chunked.write(`${small.length.toString(16)}\r\n${small}\r\n0\r\n\r\n`);
  await isHeld(1);
  held[0]?.();
  await once(chunked, 'data');
  const accepted = await begin(large);
  held[1]?.();
  expect(await accepted.status()).toBe(200);
});

test('lets uploads that are slow keep nobody out but by the room for their bodies', async () => {
  const { held, url, begin } = await start({ maxRequests: 1 });
  const slow = await beginUpload(url);
  const other = await begin(plant(2));
  held[0]?.();
  expect(await other.status()).toBe(200);
  slow.socket.destroy();
});

const POST = requestText('POST /plants', plant(1));

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
