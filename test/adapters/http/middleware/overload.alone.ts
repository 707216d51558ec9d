import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { post, refusalOf, startApiServer } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { connectTo } from '../../../support/http-bytes.ts';
import { beginUpload, requestText } from '../../../support/raw-request.ts';

/** A repository whose calls wait until the test lets them go. */
function heldPlants() {
  const held: (() => void)[] = [];
  const add = (plant: NewPlant) => new Promise<NewPlant>((resolve) => held.push(() => resolve(plant)));
  return { held, plants: { add } };
}

/** Gives up before Jest does, so that no loop outlives a test that fails. */
const until = (condition: () => boolean) => eventually(condition, 20_000);

/** Its failure would end Jest before it says which test has failed, and left it behind. */
function begin(...request: Parameters<typeof post>): Promise<Response> {
  const response = post(...request);
  response.catch(() => {});
  return response;
}

const plant = (id: number, name = 'x') => JSON.stringify({ id, name });

/** A service with such a repository, once a plant is there. */
async function startOccupied(options: Parameters<typeof startApiServer>[0], body = plant(1)) {
  const { held, plants } = heldPlants();
  const { url } = await startApiServer({ plants, ...options });
  const accepted = begin(url, body);
  await until(() => held.length === 1);
  return { held, url, accepted };
}

test('refuses more than may be under way, without asking the store, and recovers', async () => {
  const { held, url, accepted } = await startOccupied({ maxRequests: 2 });
  const second = begin(url, plant(2));
  await until(() => held.length === 2);

  const refused = await post(url, plant(3));
  expect(refused.headers.get('Retry-After')).toBe('1');
  const message = 'the service is overloaded; sending the same request again is safe';
  expect(await refusalOf(refused)).toEqual([503, 50300, message]);
  expect((await post(url, plant(3), { Authorization: 'Bearer wrong' })).status).toBe(401);
  expect(held).toHaveLength(2);

  for (const release of held) release();
  expect([(await accepted).status, (await second).status]).toEqual([200, 200]);
  const again = begin(url, plant(3));
  await until(() => held.length === 3);
  held[2]?.();
  expect((await again).status).toBe(200);
});

test('counts a chunked body as its limit, which it gives back', async () => {
  const { held, plants } = heldPlants();
  const { url } = await startApiServer({ plants, maxRequestBytes: 100_000 });
  const chunked = connectTo(url);
  const lines = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n';
  chunked.write(requestText('POST /plants', '', lines));
  await once(chunked, 'data');
  const large = plant(2).padEnd(60_000);
  expect((await post(url, large)).status).toBe(503);
  const small = plant(1);
  chunked.write(`${small.length.toString(16)}\r\n${small}\r\n0\r\n\r\n`);
  await until(() => held.length === 1);
  held[0]?.();
  await once(chunked, 'data');
  const accepted = begin(url, large);
  await until(() => held.length === 2);
  held[1]?.();
  expect((await accepted).status).toBe(200);
  chunked.destroy();
});

test('lets uploads that are slow keep nobody out but by the room for their bodies', async () => {
  const { held, plants } = heldPlants();
  const { url } = await startApiServer({ plants, maxRequests: 1 });
  const slow = await beginUpload(url);
  const other = begin(url, plant(2));
  await until(() => held.length === 1);
  held[0]?.();
  expect((await other).status).toBe(200);
  slow.socket.destroy();
});
