import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuTime, cpuTimeOfFamily, residentMemory } from '../tooling/linux-process.ts';
import { number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type Server, startServer } from '../tooling/server-process.ts';
import { type Session, session } from '../tooling/session.ts';
import { createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { type Trouble, webhookTroubles } from '../tooling/webhook-troubles.ts';
import { circumstances } from './circumstances.ts';
import { atLeast, atMost } from './claims.ts';
import { runLoad } from './load.ts';
import { publish } from './output.ts';
import { claimTable } from './tables.ts';

/*
 * npm run bench -- webhooks [--rounds 5] [--seconds 10]
 *
 * What a webhook takes from creates at 64 connections, how many plants it delivers meanwhile, how fast it delivers what
 * has piled up, what another endpoint in trouble takes from both, and the CPU that idle endpoints take. The receivers are
 * in this process, on the same cores. Ratios are made within a round; those beside trouble by one process, for which the endpoint is parked or not.
 */

const { values } = parseArgs({ options: { rounds: { type: 'string' }, seconds: { type: 'string' } } });
const rounds = positive(values.rounds, 5);
const seconds = positive(values.seconds, 10);
const MIB = 1024 ** 2;

/** Deliveries of the drain are counted until so many seconds bring none. */
const SILENCE = 3;

/** Milliseconds after which an idle service has compiled what it runs. */
const WARM_UP = 5_000;

/** As many as there may be. */
const MANY = 100;

/** Milliseconds after which an endpoint in trouble is made due again, so that its trouble goes on. */
const HURRY = 500;

let received = 0;
const receiver = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    received++;
    response.writeHead(204).end();
  });
});

let trouble: Trouble = () => {};
let troubles = 0;
const troubled = createServer((request, response) => {
  troubles++;
  trouble(request, response);
});

await session(async (session) => {
  const [url, troubledUrl] = [await listening(receiver, session), await listening(troubled, session)];
  const database = await createDatabase(await findPostgres(session), session);
  const load = { connections: 64, seconds, signal: session.signal };

  const troubledEndpoint = `${new URL(troubledUrl).host} %`;
  const setTroubled = (set: string, where = 'true') =>
    database.query(`update webhooks set ${set} where endpoint like $1 and ${where} returning 1`, [troubledEndpoint]);

  /** A service that sends to these. */
  async function startWith(urls: readonly string[]): Promise<Server> {
    await startAfresh(database);
    // The places of earlier ones.
    await database.query('delete from webhooks');
    const secret = { WEBHOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}` };
    const environment = urls.length === 0 ? {} : { WEBHOOK_URLS: urls.join(), ...secret };
    return startServer({ ...plantStore, environment }, database.url, session);
  }

  /** The same, once it has warmed up. */
  async function started(...urls: readonly string[]): Promise<Server> {
    const server = await startWith(urls);
    await runLoad(server.url, { ...load, seconds: 5 });
    return server;
  }

  /** @returns creates a second, and plants that the receiver got a second meanwhile; none waits at the start */
  async function creating({ url }: Server) {
    await startAfresh(database);
    const hurry = setInterval(() => setTroubled(`retry_at = '-infinity'`, 'not parked and retry_at > now()'), HURRY);
    const before = received;
    const { answers, seconds } = await runLoad(url, load);
    clearInterval(hurry);
    return { creates: answers / seconds, during: (received - before) / seconds };
  }

  async function alone(): Promise<number> {
    const server = await started();
    const { creates } = await creating(server);
    await server.stop();
    return creates;
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
    const server = await started(url);
    await startAfresh(database);
    await drained();
    const memory = residentMemory(server.pid, 'now');
    const before = received;
    const { creates, during } = await creating(server);
    const drain = await drained();
    const plants = await database.countSettledPlants();
    if (received - before < plants) throw new Error(`${plants} plants, of which ${received - before} were delivered`);
    const growth = (residentMemory(server.pid, 'now') - memory) / MIB;
    await server.stop();
    return { creates, during, drain, growth };
  }

  /** @returns the CPU of the service and of Postgres, in percent of a core, while nothing happens under all leases */
  async function idle(endpoints: number): Promise<number> {
    const server = await startWith(Array.from({ length: endpoints }, (_, n) => `${url}${n}`));
    const held = async () =>
      (await database.query('select from webhooks where holder is not null and expires > now()')).length;
    while ((await held()) < endpoints) await sleep(50);
    await sleep(WARM_UP);
    const used = () => cpuTime(server.pid).own + cpuTimeOfFamily(database.postmaster);
    const [start, before] = [performance.now(), used()];
    await sleep(seconds * 1_000);
    const percent = ((used() - before) * 100_000) / (performance.now() - start);
    if ((await held()) < endpoints) throw new Error('a lease was lost meanwhile, which would look idle');
    await server.stop();
    return percent;
  }

  async function withoutTroubled(server: Server) {
    // Also ends the lease of attempts that are still on their way.
    await setTroubled('parked = true, holder = null');
    troubled.closeAllConnections();
    return creating(server);
  }

  async function besideTroubled(server: Server) {
    const before = troubles;
    await setTroubled(`parked = false, retry_at = '-infinity'`);
    while (troubles === before) await sleep(50);
    return creating(server);
  }

  /** @returns creates, and deliveries to the other receiver, beside one in each trouble ÷ the same without it */
  async function besideTroubles() {
    const server = await started(url, troubledUrl);
    const ratios: { name: string; creates: number; during: number }[] = [];
    for (const [name, behaviour] of Object.entries(webhookTroubles)) {
      trouble = behaviour;
      const without = await withoutTroubled(server);
      const beside = await besideTroubled(server);
      const ratio = { name, creates: beside.creates / without.creates, during: beside.during / without.during };
      console.error(`one that ${name}: creates ${number(ratio.creates)}, deliveries ${number(ratio.during)}`);
      ratios.push(ratio);
    }
    await server.stop();
    return ratios;
  }

  const all: { ratio: number; during: number; drain: number; growth: number; idle: number; more: number }[] = [];
  const beside: Awaited<ReturnType<typeof besideTroubles>> = [];
  for (let round = 1; round <= rounds; round++) {
    const without = await alone();
    const { creates, ...figures } = await announced();
    const one = await idle(1);
    const measured = { ratio: creates / without, ...figures, idle: one, more: (await idle(MANY)) - one };
    all.push(measured);
    const words = Object.entries(measured).map(([name, value]) => `${name} ${number(value)}`);
    console.error(`round ${round}/${rounds}: ${words.join(', ')}`);
    beside.push(...(await besideTroubles()));
  }
  const each = (name: keyof (typeof all)[number]) => all.map((measured) => measured[name]);
  const claims = [
    atLeast(0.7, 'creates with a webhook, 64 connections: throughput ÷ without', each('ratio')),
    atLeast(500, 'plants delivered a second meanwhile', each('during')),
    atLeast(2_000, 'plants delivered a second afterwards, until none waits', each('drain')),
    atMost(100, 'MiB that the service has grown by then', each('growth')),
    atMost(5, 'CPU that an idle webhook takes with service and Postgres, in % of a core', each('idle')),
    atMost(5, `CPU that ${MANY} idle webhooks take beyond that of one, in % of a core`, each('more')),
    ...Object.keys(webhookTroubles).map((trouble) => {
      const ratios = beside.filter(({ name }) => name === trouble).map(({ creates }) => creates);
      return atLeast(0.95, `creates beside one more receiver that ${trouble}: throughput ÷ without it`, ratios);
    }),
    atLeast(
      0.95,
      'plants delivered to the other receiver beside each of these ÷ without it',
      beside.map(({ during }) => during),
    ),
  ];
  console.log(`\n${claimTable(claims)}`);
  const { machine, versions, ...where } = await circumstances(database);
  publish('webhooks.json', { ...where, machine, versions, settings: { rounds, seconds }, claims });
});

async function listening(server: HttpServer, { opened }: Session): Promise<string> {
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
