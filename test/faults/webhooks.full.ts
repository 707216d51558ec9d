import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, jest, test } from '@jest/globals';
import type { NewPlant } from '../../src/domain/plant.ts';
import { execute } from '../../tooling/execute.ts';
import { type ApiClient, apiClient } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { type MortalService, ROUNDS, startMortalService } from '../support/faults/crash-rounds.ts';
import { type Activity, chance, endBackend, fire, pick, statusOf } from '../support/faults/fire.ts';
import { jumpingClock } from '../support/faults/jumping-clock.ts';
import { sorted } from '../support/plants/changes.ts';
import { migratedPostgres } from '../support/servers/own-postgres.ts';
import { storedPlantsAt } from '../support/test-database.ts';
import { agrees, living, type Receiver, startReceiver, webhooksTo } from '../support/webhooks/webhook-receiver.ts';

/*
 * Webhooks under fire: whatever is killed, frozen and cut off, and however clocks jump, the copies of two receivers agree
 * with the table in the end, and have never gone backwards. npm run test:full has a round of each fault, npm run
 * test:faults longer ones.
 */

/** npm run test:faults has more of everything. */
const isLong = ROUNDS > 1;

const WRITERS = 8;
/** Plants that are changed again and again. */
const OLD_PLANTS = 64;

jest.setTimeout(60 * 60_000);

let receivers: [Receiver, Receiver];
beforeEach(async () => {
  receivers = [await startReceiver(), await startReceiver()];
});

/** An instance of the service that can be killed, frozen and started again at its address. */
const startInstance = (environment: Record<string, string>) =>
  startMortalService(() => ({ LOG_LEVEL: 'fatal', ...environment }));

/** Two instances on a database that deliver to both receivers. */
async function startTwo(url: string) {
  const environment = { DATABASE_URL: url, ...webhooksTo(...receivers.map((one) => one.url)) };
  const instances = [await startInstance(environment), await startInstance(environment)];
  return { instances, clients: instances.map((instance) => apiClient(instance.url)) };
}

/** What has happened in all rounds. */
function counters() {
  return { rounds: 0, writes: 0, attempts: 0, troubles: 0 };
}
type Counters = ReturnType<typeof counters>;

/** Numbers of plants, none of which is ever used again. */
let fresh = 1_000;

/** In the name of a plant: those of later rounds are higher, too. */
let version = 0;

/** Each plant is written by one of them, with a number in its name that grows. Some creations are sent again. */
function writer(number: number, clients: readonly ApiClient[], count: Counters): Activity {
  // Others in each round, since those of the one before are deleted by its end.
  const old = number + OLD_PLANTS * count.rounds;
  let last = `{"id":${old},"name":"0"}`;
  return async () => {
    const id = chance(70) ? old + WRITERS * randomInt(OLD_PLANTS / WRITERS) : WRITERS * fresh++ + number;
    const name = `"name":"${++version}"`;
    const create = `{"id":${id},${name}}`;
    const isReplay = chance(10);
    const client = pick(clients);
    if (!isReplay) count.attempts++;
    const send = () => {
      if (isReplay) return client.send('POST', '/plants', { body: last });
      if (chance(50)) return client.send('POST', '/plants', { body: create });
      if (chance(85)) return client.send('PUT', `/plants/${id}`, { body: `{${name}}` });
      return client.send('DELETE', `/plants/${id}`);
    };
    const status = await statusOf(send());
    if (status === undefined) return;
    if (status < 400) count.writes++;
    if (!isReplay) last = create;
  };
}

/** Kills an instance or freezes it, perhaps for longer than a lease; the others go on meanwhile. */
function instanceTrouble(instances: readonly MortalService[], count: Counters): Activity {
  return async () => {
    await delay(randomInt(2_000));
    const instance = pick(instances);
    if (chance(50)) {
      await instance.restart();
    } else {
      instance.signal('SIGSTOP');
      await delay(randomInt(isLong && chance(20) ? 45_000 : 6_000));
      instance.signal('SIGCONT');
    }
    count.troubles++;
  };
}

/** Lets a clock jump. @param offsets from the real time */
function clockJumps(jump: (to: string) => Promise<void>, offsets: readonly string[]): Activity {
  return async () => {
    await delay(randomInt(3_000));
    await jump(pick(offsets));
  };
}

function receiverTrouble(count: Counters): Activity {
  return async () => {
    await delay(randomInt(1_500));
    const receiver = pick(receivers);
    if (chance(30)) {
      await receiver.kill();
      await delay(randomInt(500));
      await receiver.start();
    } else {
      // Some were stored before, and are not acknowledged.
      const broken = pick([0, 500, 302]);
      receiver.trouble((request, response) => {
        if (!chance(20)) return false;
        if (broken === 0) request.socket.destroy();
        else response.writeHead(broken).end();
        return true;
      });
      await delay(randomInt(500));
      receiver.trouble(undefined);
    }
    count.troubles++;
  };
}

/** What must not be in all that a receiver has got. */
function contradictions({ received }: Receiver): string[] {
  const states = new Map<string, { epoch: string; changed: bigint; version: number }>();
  const ids = new Map<string, string>();
  const wrong: string[] = [];
  for (const { id, body } of received) {
    const [, epoch = '', digits = '', plant = ''] = id.split('_');
    const key = [epoch, digits, plant].join();
    if ((ids.get(key) ?? id) !== id) wrong.push(`${id} and ${ids.get(key)} are one state`);
    ids.set(key, id);
    const [changed, version] = [BigInt(digits), Number(/"name":"(\d+)"/.exec(body)?.[1])];
    const last = states.get(plant);
    if (last?.epoch === epoch && changed <= last.changed) continue;
    if (last !== undefined && version <= last.version) wrong.push(`${plant} went from ${last.version} to ${version}`);
    states.set(plant, { epoch, changed, version });
  }
  return wrong;
}

function expectTrue(count: Counters, table: readonly NewPlant[]): void {
  for (const receiver of receivers) {
    expect(living(receiver, table)).toEqual(sorted(table));
    expect(contradictions(receiver)).toEqual([]);
    expect(receiver.forged()).toBe(0);
    // A replay is no attempt to write.
    expect(receiver.received.length - receiver.repeated()).toBeLessThanOrEqual(count.attempts);
  }
}

/** Waits would take minutes; what is due is tried at the next turn. */
async function hurried(url: string): Promise<void> {
  await execute(url, `update webhooks set retry_at = '-infinity' where not parked`);
  await delay(300);
}

/** Waits for what is asserted then, and helps meanwhile. */
const soon = (help: () => Promise<unknown>, isDone: () => boolean) =>
  eventually(() => help().then(isDone), 120_000).catch(() => {});

const writers = (clients: readonly ApiClient[], count: Counters) =>
  Array.from({ length: WRITERS }, (_, n) => writer(n, clients, count));

test('two receivers of two instances on Postgres have what the table has', async () => {
  const clock = await jumpingClock();
  const { url } = await migratedPostgres(clock.environment);
  const { instances, clients } = await startTwo(url);
  const count = counters();
  const jumps = clockJumps(clock.jump, ['+0', '-1h', '+1h', '+5d', '-5d', '+400d', '-400d']);
  const hurry = () => hurried(url);
  const backends = async () => {
    await delay(randomInt(1_000));
    await endBackend(url);
    count.troubles++;
  };
  const troubles = [instanceTrouble(instances, count), receiverTrouble(count), backends, jumps];
  for (; count.rounds < ROUNDS; count.rounds++) {
    const enough = isLong ? { writes: 2_000, troubles: 15 } : { writes: 800, troubles: 6 };
    const isRepeated = () => receivers.some((one) => one.repeated() > 0);
    await fire([...writers(clients, count), ...troubles, hurry], count, enough, isRepeated);
    const table = await storedPlantsAt(url);
    await soon(hurry, () => receivers.every((one) => agrees(one, table)));
    expectTrue(count, table);
  }
});

test.each([
  ['is killed', 'SIGKILL'],
  ['is frozen, until long after its lease', 'SIGSTOP'],
] as const)(
  'another instance delivers within 36 s when the one that did %s, and repeats a page at most',
  async (_, signal) => {
    const { url } = await migratedPostgres();
    const [receiver] = receivers;
    const environment = { DATABASE_URL: url, ...webhooksTo(receiver.url) };
    const first = await startInstance(environment);
    const holder = async () => (await execute(url, 'select holder from webhooks'))[0]?.holder;
    await eventually(async () => typeof (await holder()) === 'string');
    const firstHolder = await holder();
    const client = apiClient((await startInstance(environment)).url);
    let id = 0;
    const create = async (plants: number) => {
      for (let n = 0; n < plants; n++) {
        const { status } = await client.send('POST', '/plants', { body: `{"id":${++id},"name":"${id}"}` });
        expect(status).toBe(200);
      }
    };
    // Also on a busy machine, where the 36 s may become more.
    const areAnnounced = () => eventually(() => receiver.copy.size === id);
    let late = 0;
    receiver.trouble((request, response) => {
      if (late++ < 20) return false;
      // In the middle of a page.
      first.signal(signal);
      receiver.trouble(undefined);
      request.resume();
      response.writeHead(500).end();
      return true;
    });
    await create(300);
    await eventually(() => late > 20);
    await areAnnounced();
    expect(await holder()).not.toBe(firstHolder);
    // The page that it had sent before it had stored that, and requests that were on their way.
    expect(receiver.repeated()).toBeLessThanOrEqual(200 + 32);
    if (signal === 'SIGSTOP') {
      // Longer than its lease, by any clock.
      await delay(isLong ? 60_000 : 5_000);
      const before = receiver.received.length;
      first.signal('SIGCONT');
      await delay(5_000);
      expect(receiver.received.length - before).toBeLessThanOrEqual(32);
    }
    await create(5);
    await areAnnounced();
    expect(contradictions(receiver)).toEqual([]);
  },
);
