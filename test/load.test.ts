import { hash, randomInt } from 'node:crypto';
import { Agent } from 'node:http';
import { expect, test } from '@jest/globals';
import { TOKEN } from './support/api-server.ts';
import { type Answer, faultless, judge, mixedPlant, send } from './support/load-clients.ts';
import { startService, temporaryFolder } from './support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from './support/test-database.ts';

/* The promises under load: two processes share a database, and every answer is checked against the table. */

const REQUESTS = 6_000;
const CONNECTIONS = 64;
/** Of the order in which they are sent: LOAD_SEED repeats a run. */
const SEED = Number(process.env.LOAD_SEED ?? randomInt(2 ** 31));

test('answers 200 to exactly those whose record the table holds, though a third are replays and conflicts', async () => {
  const database = await migratedDatabase();
  const environment = { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN, LOG_LEVEL: 'warn' };
  const start = async () => (await startService(await temporaryFolder(), environment)).apiUrl;
  const urls = [await start(), await start()] as const;

  process.stdout.write(`test/load.test.ts: LOAD_SEED=${SEED}\n`);
  const order = Array.from({ length: REQUESTS }, (_, n) => ({ n, hash: hash('sha256', `${SEED} ${n}`) }));
  const sent = order.sort((a, b) => (a.hash < b.hash ? -1 : 1)).map(({ n }) => mixedPlant(n));
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS / urls.length });
  const answers: Answer[] = [];
  const queue = sent.entries();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (const [index, plant] of queue) answers.push(await send(urls[index % 2 ? 1 : 0], plant, agent));
    }),
  );
  agent.destroy();

  const rows = await storedPlantsAt(database.url);
  expect(judge(answers, rows)).toEqual(faultless);
  expect(answers).toHaveLength(REQUESTS);
  expect(rows).toHaveLength(new Set(sent.filter(({ name }) => name !== '\0').map(({ id }) => id)).size);
});
