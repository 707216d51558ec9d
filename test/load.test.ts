import { Agent } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { HttpServer } from '../src/adapters/http/server.ts';
import type { Database } from '../src/adapters/postgres/database.ts';
import { startApiServer } from './support/api-server.ts';
import { type Answer, faultless, judge, mixedPlant, send } from './support/load-clients.ts';
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

test('answers 200 to exactly those whose record the table holds, though nearly half are replays, conflicts and invalid', async () => {
  const sent = Array.from({ length: REQUESTS }, (_, n) => mixedPlant(n)).sort(() => Math.random() - 0.5);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS / instances.length });
  const answers: Answer[] = [];
  const queue = sent.entries();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (const [index, plant] of queue) {
        const { url } = instances[index % instances.length] as HttpServer;
        answers.push(await send(url, plant, agent));
      }
    }),
  );
  agent.destroy();

  const rows = await storedPlants(databases[0] as Database);
  expect(judge(answers, rows)).toEqual(faultless);
  expect(answers).toHaveLength(REQUESTS);
}, 120_000);
