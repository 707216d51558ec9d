import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { contenders } from '../../bench/contenders.ts';
import { createDatabase, findPostgres } from '../../bench/database.ts';
import { positive } from '../../bench/options.ts';
import { startServer, TOKEN } from '../../bench/server-process.ts';
import { session } from '../../bench/session.ts';
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
  const server = await startServer(contenders.ours, database, session);
  console.log(`${requests} requests from seed ${seed}`);
  const start = performance.now();
  const onProgress = (sent: number) => process.stderr.write(`\r${sent}`);
  const { sent, answers } = await fuzz({ url: server.url, token: TOKEN, query, requests, seed, onProgress });
  const seconds = Math.round((performance.now() - start) / 1000);
  console.log(`\n${sent} requests in ${seconds} s, no fault. Answers:`);
  for (const [kind, count] of [...answers].sort(([, a], [, b]) => b - a))
    console.log(`${String(count).padStart(8)}  ${kind}`);
});
