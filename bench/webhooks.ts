import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuTime, cpuTimeOfFamily, residentMemory } from '../tooling/linux-process.ts';
import { number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type Server, startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { type Trouble, webhookTroubles } from '../tooling/webhook-troubles.ts';
import { circumstances } from './circumstances.ts';
import { atLeast, atMost } from './claims.ts';
import { embeddedIdleCpu, endpointsOf, idleCpu, MANY } from './idle-webhooks.ts';
import { runLoad } from './load.ts';
import { publish } from './output.ts';
import { claimTable } from './tables.ts';
import { listening, startReceiver, webhookEnvironment } from './webhook-receiver.ts';

/*
 * npm run bench -- webhooks [--rounds 5] [--seconds 10]
 *
 * What a webhook takes from creates at 64 connections, how many plants it delivers meanwhile, how fast it delivers what
 * has piled up, what another endpoint in trouble takes from both, and the CPU that idle endpoints take, also with the
 * embedded database. The receivers are in this process, on the same cores. Ratios are made within a round; those beside
 * trouble by one process, for which the endpoint is parked or not.
 */

const { values } = parseArgs({ options: { rounds: { type: 'string' }, seconds: { type: 'string' } } });
const rounds = positive(values.rounds, 5);
const seconds = positive(values.seconds, 10);
const MIB = 1024 ** 2;

/** Deliveries of the drain are counted until so many seconds bring none. */
const SILENCE = 3;

/** Milliseconds after which an endpoint in trouble is made due again, so that its trouble goes on. */
const HURRY = 500;

let trouble: Trouble = () => {};
let troubles = 0;
const troubled = createServer((request, response) => {
  troubles++;
  trouble(request, response);
});

await session(async (session) => {
  const receiver = await startReceiver(session);
  const { url, count } = receiver;
  const troubledUrl = await listening(troubled, session);
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
    return startServer({ ...plantStore, environment: webhookEnvironment(urls) }, database.url, session);
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
    const before = count();
    const { answers, seconds } = await runLoad(url, load);
    clearInterval(hurry);
    return { creates: answers / seconds, during: (count() - before) / seconds };
  }

  async function alone(): Promise<number> {
    const server = await started();
    const { creates } = await creating(server);
    await server.stop();
    return creates;
  }

  /** Waits until nothing more comes. @returns how many came a second, until the last one */
  async function drained(): Promise<number> {
    const [start, before] = [performance.now(), count()];
    let last = { count: before, at: start };
    while (performance.now() - last.at < SILENCE * 1_000) {
      await sleep(50);
      if (count() !== last.count) last = { count: count(), at: performance.now() };
    }
    return (count() - before) / ((last.at - start) / 1_000);
  }

  async function announced() {
    const server = await started(url);
    await startAfresh(database);
    await drained();
    const memory = residentMemory(server.pid, 'now');
    const before = count();
    const { creates, during } = await creating(server);
    const drain = await drained();
    const plants = await database.countSettledPlants();
    const delivered = count() - before;
    if (delivered < plants) throw new Error(`${plants} plants, of which ${delivered} were delivered`);
    const growth = (residentMemory(server.pid, 'now') - memory) / MIB;
    await server.stop();
    return { creates, during, drain, growth };
  }

  /** @returns the CPU of the service and of Postgres */
  async function idle(endpoints: number): Promise<number> {
    const server = await startWith(endpointsOf(receiver, endpoints));
    const held = () => database.query('select from webhooks where holder is not null and expires > now()');
    const percent = await idleCpu(
      async () => (await held()).length === endpoints,
      () => cpuTime(server.pid).own + cpuTimeOfFamily(database.postmaster),
      seconds,
    );
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

  /** @returns what one idle endpoint takes beyond none, and what as many as there may be take */
  async function beyondNone(idle: (endpoints: number) => Promise<number>): Promise<[one: number, many: number]> {
    const none = await idle(0);
    return [(await idle(1)) - none, (await idle(MANY)) - none];
  }

  const all: Record<
    'ratio' | 'during' | 'drain' | 'growth' | 'one' | 'many' | 'embeddedOne' | 'embeddedMany',
    number
  >[] = [];
  const beside: Awaited<ReturnType<typeof besideTroubles>> = [];
  for (let round = 1; round <= rounds; round++) {
    const without = await alone();
    const { creates, ...figures } = await announced();
    const [one, many] = await beyondNone(idle);
    const [embeddedOne, embeddedMany] = await beyondNone((count) => embeddedIdleCpu(count, receiver, seconds, session));
    const measured = { ratio: creates / without, ...figures, one, many, embeddedOne, embeddedMany };
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
    atMost(5, 'CPU of service and Postgres for an idle webhook beyond that for none, in % of a core', each('one')),
    atMost(5, `the same for ${MANY} idle webhooks`, each('many')),
    atMost(5, 'embedded database: CPU for an idle webhook beyond that for none, in % of a core', each('embeddedOne')),
    atMost(5, `the same for ${MANY} idle webhooks`, each('embeddedMany')),
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
