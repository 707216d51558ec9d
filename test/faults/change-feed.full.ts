import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import type { Client } from 'pg';
import type { NewPlant } from '../../src/domain/plant.ts';
import { execute } from '../../tooling/execute.ts';
import { type ApiClient, apiClient } from '../support/api-client.ts';
import { openTransaction } from '../support/disturbances.ts';
import { eventually } from '../support/eventually.ts';
import { type MortalService, ROUNDS, startMortalService } from '../support/faults/crash-rounds.ts';
import { type Consumer, consumer, pagesOver, type ReadPage } from '../support/plants/changes.ts';
import { migratedPostgres } from '../support/servers/own-postgres.ts';
import { connect, purgeOn, storedPlantsAt } from '../support/test-database.ts';
import { agrees, startReceiver, webhooksTo } from '../support/webhooks/webhook-receiver.ts';

/*
 * The log of changes and webhooks under fire: whatever happens to writers, services, backends and to the consumers
 * themselves, the copies of consumers and of a receiver are the table in the end. One round in npm run test:full, more
 * in npm run test:faults; the consumers follow on through all of them.
 */

jest.setTimeout(30 * 60_000);

const WRITERS = 8;
/** Ids that all writers share; each other plant has an id of its own. */
const SHARED = 60;

/** What has happened in all rounds. */
function counters() {
  return { writes: 0, kills: 0, forgotten: 0 };
}
type Counters = ReturnType<typeof counters>;

/** Numbers for ids that nobody else uses. */
let fresh = 1_000n;

/** Creates, changes and deletes; sends some creations again. */
function writer(clients: readonly ApiClient[], count: Counters): Activity {
  let last = '{"id":0,"name":""}';
  return async () => {
    const id = chance(70) ? randomInt(SHARED) : fresh++;
    const content = `"name":"${randomInt(1_000)}"${chance(50) ? ',"tag":"tag"' : ''}}`;
    if (chance(50)) last = `{"id":${id},${content}`;
    const client = pick(clients);
    const send = pick([
      () => client.send('POST', '/plants', { body: chance(80) ? `{"id":${id},${content}` : last }),
      () => client.send('PUT', `/plants/${id}`, { body: `{${content}` }),
      () => client.send('DELETE', `/plants/${id}`),
    ]);
    const status = await statusOf(send());
    if (status !== undefined && status !== 503) count.writes++;
  };
}

/** Follows the feed, and is killed at random. */
function follower(one: Consumer, read: ReadPage): Activity {
  return async () => {
    if (await stepped(one, read)) await delay(5);
    if (chance(10)) one.persist();
    if (chance(4)) one.crash();
  };
}

async function stepped(one: Consumer, read: ReadPage): Promise<boolean> {
  try {
    return await one.step(read, pick([1, 7, 100, 1_000]));
  } catch (error) {
    if (error instanceof RangeError) throw error;
    // The service was killed, or is unavailable.
    await delay(20);
    return false;
  }
}

/** Pages of any instance. @param wait seconds */
const pagesOf = (clients: readonly ApiClient[], wait: number) => pagesOver(() => pick(clients), wait);

/** Plants that the copy has not as the table has them, or has though the table does not. */
function differences(copy: ReadonlyMap<bigint, NewPlant>, table: readonly NewPlant[]): NewPlant[] {
  const key = ({ id, name, tag }: NewPlant) => `${id} ${JSON.stringify([name, tag])}`;
  const [inCopy, inTable] = [new Set([...copy.values()].map(key)), new Set(table.map(key))];
  return [
    ...table.filter((one) => !inCopy.has(key(one))),
    ...[...copy.values()].filter((one) => !inTable.has(key(one))),
  ];
}

test('neither consumers of the log of changes nor a webhook lose anything', async () => {
  const { url } = await migratedPostgres();
  const receiver = await startReceiver();
  const environment = () => ({ DATABASE_URL: url, LOG_LEVEL: 'fatal', ...webhooksTo(receiver.url) });
  const services = await Promise.all([startMortalService(environment), startMortalService(environment)]);
  const clients = services.map((service) => apiClient(service.url));
  const count = counters();
  const consumers = [consumer(), consumer(), consumer()];
  const activities = [
    ...Array.from({ length: WRITERS }, () => writer(clients, count)),
    ...consumers.map((one, n) => follower(one, pagesOf(clients, n))),
    foreignWriter(await openTransaction(url, 'commit')),
    foreignWriter(await openTransaction(url, 'commit')),
    killer(url, count, services),
  ];
  const purging = [...activities, purger(url, count)];
  for (let round = 0; round < ROUNDS; round++) {
    await fire(purging, count, { writes: 500, kills: 2, forgotten: 20 }, () =>
      consumers.some((one) => one.restarts() > 0),
    );
    // Consumers that start again would not show what they had missed.
    await fire(activities, count, { writes: 1_500, kills: 4 });
    // A plant that is written after all else, up to which each reads, and to the end of its walk.
    const last = `{"id":${fresh},"name":"the last one"}`;
    const create = () => clients[0]?.send('POST', '/plants', { body: last }).catch(() => undefined);
    await eventually(async () => (await create())?.status === 200);
    const read = pagesOf(clients, 0);
    for (const one of consumers) await eventually(async () => (await stepped(one, read)) && one.copy.has(fresh));
    fresh++;
    const table = await storedPlantsAt(url);
    expect(consumers.flatMap(({ copy }) => differences(copy, table))).toEqual([]);
    await eventually(() => agrees(receiver, table), 120_000);
    expect(receiver.forged()).toBe(0);
  }
});

/** A session that writes to plants, before and after the time for which it is left open. */
function foreignWriter(client: Client): Activity {
  const write = () =>
    chance(50)
      ? client.query(`insert into plants (id, name) values ($1, 'foreign')`, [fresh++])
      : client.query(`update plants set name = $1, changed = default where id = $2 and deleted is null`, [
          `foreign ${randomInt(1_000)}`,
          randomInt(SHARED),
        ]);
  return async () => {
    try {
      await client.query('begin; select pg_current_xact_id()');
      if (chance(70)) await write();
      await delay(randomInt(300));
      if (chance(70)) await write();
      await client.query(chance(80) ? 'commit' : 'rollback');
    } catch {
      // A deadlock.
      await client.query('rollback');
    }
    await delay(randomInt(100));
  };
}

function purger(url: string, count: Counters): Activity {
  const purge = purgeOn(connect(url));
  return async () => {
    for await (const forgotten of purge({ minAge: 0, id: undefined }, false)) count.forgotten += forgotten;
    await delay(randomInt(400));
  };
}

/** Ends a connection of an instance, or kills one of these. */
function killer(url: string, count: Counters, services: readonly MortalService[]): Activity {
  return async () => {
    await delay(randomInt(500));
    await (chance(60) ? endBackend(url) : pick(services).restart());
    count.kills++;
  };
}

/** Done again and again until the round is over. */
type Activity = () => Promise<unknown>;

const pick = <T>(all: readonly T[]) => all[randomInt(all.length)] as T;
const chance = (percent: number) => randomInt(100) < percent;

/**
 * Sends a request to a service that may be killed meanwhile.
 *
 * @returns its status, or undefined, after a moment, if it has none
 * @throws RangeError at a response that says that something is wrong with the service
 */
async function statusOf(response: Promise<{ status: number; body: string }>): Promise<number | undefined> {
  const { status, body } = await response.catch(async () => {
    await delay(20);
    return { status: undefined, body: '' };
  });
  if (status !== undefined && status >= 500 && status !== 503) throw new RangeError(`${status}: ${body}`);
  return status;
}

/** Ends one connection of the services that use a database. */
const endBackend = (url: string) =>
  execute(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'plant-store' and pid <> pg_backend_pid() order by random() limit 1`,
  );

/** Does all of it until each of these counts has grown by so much, and rejects with the first that fails. */
async function fire<Count extends Record<string, number>>(
  activities: readonly Activity[],
  count: Count,
  enough: Partial<Count>,
  isEnough = () => true,
): Promise<void> {
  const before = { ...count };
  const isDone = () =>
    isEnough() && Object.entries(enough).every(([name, more]) => (count[name] ?? 0) >= (before[name] ?? 0) + more);
  let isOver = false;
  const repeat = async (activity: Activity) => {
    while (!isOver) await activity();
  };
  const all = Promise.all(activities.map(repeat));
  // Reported below.
  all.catch(() => {
    isOver = true;
  });
  try {
    await eventually(() => isOver || isDone(), 300_000);
  } finally {
    isOver = true;
    await all;
  }
}
