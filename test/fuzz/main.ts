import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { positive } from '../../tooling/options.ts';
import { plantStore, startServer, TOKEN } from '../../tooling/server-process.ts';
import { session } from '../../tooling/session.ts';
import { createDatabase, findPostgres } from '../../tooling/session-database.ts';
import { fuzz } from './fuzz.ts';

/*
 * npm run test:fuzz [-- --requests 100000 --seed 1]
 *
 * The service as its own process against generated requests. A fault is printed with its seed and the smallest requests
 * that show it.
 */

const { values } = parseArgs({ options: { requests: { type: 'string' }, seed: { type: 'string' } } });
const requests = positive(values.requests, 100_000);
const seed = positive(values.seed, randomInt(1, 2 ** 31 - 1_000_000));

await session(async (session) => {
  const { url: database, query } = await createDatabase(await findPostgres(session), session);
  const server = await startServer(plantStore, database, session);
  console.log(`${requests} requests from seed ${seed}`);
  const start = performance.now();
  const onProgress = (sent: number) => process.stderr.write(`\r${sent}`);
  const { sent, answers } = await fuzz({ url: server.url, token: TOKEN, query, requests, seed, onProgress });
  const seconds = Math.round((performance.now() - start) / 1000);
  console.log(`\n${sent} requests in ${seconds} s, no fault. Answers:`);
  for (const [kind, count] of [...answers].sort(([, a], [, b]) => b - a))
    console.log(`${String(count).padStart(8)}  ${kind}`);
});
