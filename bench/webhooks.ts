import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { residentMemory } from '../tooling/linux-process.ts';
import { number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { circumstances } from './circumstances.ts';
import { atLeast, atMost } from './claims.ts';
import { runLoad } from './load.ts';
import { writeJson } from './output.ts';
import { claimTable } from './tables.ts';

/*
 * npm run bench:webhooks [-- --rounds 5] [--seconds 10]
 *
 * What a webhook takes from creates at 64 connections, how many plants it delivers meanwhile, and how fast it delivers
 * what has piled up. The receiver is in this process, on the same cores. Ratios are made within a round.
 */

const { values } = parseArgs({ options: { rounds: { type: 'string' }, seconds: { type: 'string' } } });
const rounds = positive(values.rounds, 5);
const seconds = positive(values.seconds, 10);
const MIB = 1024 ** 2;

/** Deliveries of the drain are counted until so many seconds bring none. */
const SILENCE = 3;

let received = 0;
const receiver = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    received++;
    response.writeHead(204).end();
  });
});
receiver.keepAliveTimeout = 60_000;

await session(async (session) => {
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  session.opened.defer(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const environment = {
    WEBHOOK_URLS: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    WEBHOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}`,
  };
  const database = await createDatabase(await findPostgres(session), session);
  const load = { connections: 64, seconds, signal: session.signal };

  async function alone(): Promise<number> {
    const server = await startServer(plantStore, database.url, session);
    await runLoad(server.url, { ...load, seconds: 5 });
    await startAfresh(database);
    const { answers, seconds } = await runLoad(server.url, load);
    await server.stop();
    return answers / seconds;
  }

  /** Waits until nothing more comes. @returns how many came a second, until the last one */
  async function drained(): Promise<number> {
    const [start, before] = [performance.now(), received];
    let last = { count: before, at: start };
    while (performance.now() - last.at < SILENCE * 1_000) {
      await sleep(50);
      if (received !== last.count) last = { count: received, at: performance.now() };
    }
    return (received - before) / ((last.at - start) / 1_000);
  }

  async function announced() {
    const server = await startServer({ ...plantStore, environment }, database.url, session);
    await runLoad(server.url, { ...load, seconds: 5 });
    await drained();
    await startAfresh(database);
    const memory = residentMemory(server.pid, 'now');
    const before = received;
    const { answers, seconds } = await runLoad(server.url, load);
    const during = (received - before) / seconds;
    const drain = await drained();
    const plants = await database.countSettledPlants();
    if (received - before < plants) throw new Error(`${plants} plants, of which ${received - before} were delivered`);
    const growth = (residentMemory(server.pid, 'now') - memory) / MIB;
    await server.stop();
    return { creates: answers / seconds, during, drain, growth };
  }

  const all: { ratio: number; during: number; drain: number; growth: number }[] = [];
  for (let round = 1; round <= rounds; round++) {
    await startAfresh(database);
    const without = await alone();
    await startAfresh(database);
    // What was created without it is there already.
    await database.query('delete from webhooks');
    const { creates, ...figures } = await announced();
    const measured = { ratio: creates / without, ...figures };
    all.push(measured);
    const words = Object.entries(measured).map(([name, value]) => `${name} ${number(value)}`);
    console.error(`round ${round}/${rounds}: ${words.join(', ')}`);
  }
  const each = (name: keyof (typeof all)[number]) => all.map((measured) => measured[name]);
  const claims = [
    atLeast(0.7, 'creates with a webhook, 64 connections: throughput ÷ without', each('ratio')),
    atLeast(500, 'plants delivered a second meanwhile', each('during')),
    atLeast(2_000, 'plants delivered a second afterwards, until none waits', each('drain')),
    atMost(100, 'MiB that the service has grown by then', each('growth')),
  ];
  console.log(`\n${claimTable(claims)}`);
  const { machine, versions, ...where } = await circumstances(database);
  writeJson('webhooks.json', { ...where, machine, versions, settings: { rounds, seconds }, claims });
});
