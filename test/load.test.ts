import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { HttpServer } from '../src/adapters/http/server.ts';
import type { Database } from '../src/adapters/postgres/database.ts';
import { isSamePlant, type NewPlant } from '../src/domain/plant.ts';
import { startApiServer, TOKEN } from './support/api-server.ts';
import { connect, migratedDatabase, plantsIn, storedPlants, type TestDatabase } from './support/test-database.ts';

/* The promises under load: two instances share a database, and every answer is checked against the table. */

const REQUESTS = 20_000;
const CONNECTIONS = 64;

let server: TestDatabase;
let databases: Database[];
let instances: HttpServer[];
beforeAll(async () => {
  server = await migratedDatabase();
  databases = [connect(server.url), connect(server.url)];
  instances = await Promise.all(databases.map((database) => startApiServer({ plants: plantsIn(database) })));
});
afterAll(async () => {
  for (const instance of instances) await instance.close(0);
  for (const database of databases) await database.close();
  await server.drop();
});

test('answers 200 to exactly those whose record the table holds, though a third are replays and conflicts', async () => {
  const sent = Array.from({ length: REQUESTS }, (_, n) => plant(n)).sort(() => Math.random() - 0.5);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS / instances.length });
  const answers: { plant: NewPlant; status: number; body: string }[] = [];
  const queue = sent.entries();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (const [index, plant] of queue) {
        const { url } = instances[index % instances.length] as HttpServer;
        answers.push({ plant, ...(await post(url, plant, agent)) });
      }
    }),
  );
  agent.destroy();

  const rows = await storedPlants(databases[0] as Database);
  const stored = new Map(rows.map((row) => [row.id, row]));
  expect(rows).toHaveLength(new Set(sent.map(({ id }) => id)).size);
  const wrong = answers.filter(({ plant: { id, ...plant }, status, body }) => {
    const row = stored.get(id);
    const holds = row !== undefined && isSamePlant(row, { id, ...plant });
    return holds ? status !== 200 || body !== JSON.stringify(plant) : status !== 400 || !body.includes('40009');
  });
  expect(wrong).toEqual([]);
  expect(answers).toHaveLength(REQUESTS);
}, 120_000);

/** Of six: four new ones, one replay and one conflict. */
function plant(n: number): NewPlant {
  const first = n - (n % 6);
  if (n % 6 === 4) return plant(first);
  if (n % 6 === 5) return { ...plant(first + 1), name: 'another plant' };
  return { id: (BigInt(n) * 9_007_199_254_740_993n) % 2n ** 63n, name: `plant ${n}`, tag: `tag ${n}` };
}

function post(url: string, { id, ...plant }: NewPlant, agent: Agent): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  const sending = request(`${url}/plants`, { method: 'POST', agent, headers }, (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (chunk) => {
      body += chunk;
    });
    response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
  });
  sending.on('error', reject);
  sending.end(`{"id":${id},${JSON.stringify(plant).slice(1)}`);
  return promise;
}
