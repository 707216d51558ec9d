import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { execute } from '../../tooling/execute.ts';
import { apiClient } from '../support/api-client.ts';
import { openTransaction } from '../support/disturbances.ts';
import { eventually, untilStopped } from '../support/eventually.ts';
import { ROUNDS, startMortalService } from '../support/faults/crash-rounds.ts';
import { purgeOf, startRandomRequests } from '../support/faults/random-requests.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { type Consumer, consumer, differences, pagesOver, type ReadPage } from '../support/plants/changes.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';
import { agrees, startReceiver, webhooksTo } from '../support/webhooks/webhook-receiver.ts';

/*
 * The log of changes and webhooks under fire: whatever happens to writers, services, backends and to the consumers
 * themselves, no response is wrong, and the copies of consumers and of a receiver are the table in the end.
 */

jest.setTimeout(30 * 60_000);

const postgres = forAllTests(() => ownPostgres());

/** The next plant of those that are written past the services: above all ids of the random requests. */
let otherId = 1_000_000n;

const chance = (percent: number) => randomInt(100) < percent;

/** Reads a page. @returns whether it was the end */
async function step(one: Consumer, read: ReadPage): Promise<boolean> {
  try {
    return await one.step(read, 10 ** randomInt(4));
  } catch (error) {
    if (error instanceof RangeError) throw error;
    // The service was killed, or is unavailable.
    await delay(20);
    return false;
  }
}

/** Milliseconds for which a consumer is away at times: longer than a purge leaves the deletions that it has not seen. */
const ABSENCE_MS = 12_000;

/** Follows the log, and is killed at random. */
const follow = (one: Consumer, read: ReadPage) =>
  untilStopped(async () => {
    if (await step(one, read)) await delay(5);
    if (chance(10)) one.persist();
    if (chance(4)) one.crash();
    if (randomInt(300) === 0) await delay(ABSENCE_MS);
  });

/** A session that writes plants before and after the time for which its transaction is left open. */
async function writePastServices(url: string) {
  const client = await openTransaction(url, 'commit');
  return untilStopped(async () => {
    await client.query('begin; select pg_current_xact_id()');
    if (chance(70)) await client.query(`insert into plants (id, name) values ($1, 'first')`, [++otherId]);
    await delay(randomInt(300));
    if (chance(70)) await client.query(`insert into plants (id, name) values ($1, 'second')`, [++otherId]);
    await client.query(chance(80) ? 'commit' : 'rollback');
    await delay(randomInt(100));
  });
}

test.each(Array.from({ length: ROUNDS }, (_, n) => n + 1))(
  'no response is wrong, and neither consumer nor webhook loses anything: round %i',
  async () => {
    const { directUrl: url } = await migratedDatabase(postgres.url);
    const receiver = await startReceiver();
    const environment = () => ({ DATABASE_URL: url, LOG_LEVEL: 'fatal', ...webhooksTo(receiver.url) });
    const [first, second] = await Promise.all([startMortalService(environment), startMortalService(environment)]);
    const clients = [apiClient(first.url), apiClient(second.url)] as const;
    const pages = (wait: number) => pagesOver(() => clients[chance(50) ? 0 : 1], wait);
    const consumers = [consumer(), consumer(), consumer()];
    const purge = purgeOf(url);
    let [isPurging, kills] = [true, 0];
    const requests = startRandomRequests(clients, async () => (isPurging ? purge() : []));
    const stops = [
      ...consumers.map((one, n) => follow(one, pages(n))),
      await writePastServices(url),
      await writePastServices(url),
      untilStopped(async () => {
        await delay(randomInt(500));
        await (chance(60) ? endBackend(url) : (chance(50) ? first : second).restart());
        kills++;
      }),
    ];
    const hasRestarted = () => consumers.some((one) => one.restarts() > 0);
    await eventually(() => requests.purged() > 20 && kills > 2 && hasRestarted(), 300_000);
    // Consumers that start again would not show what they had missed.
    isPurging = false;
    const [sent, killed] = [requests.sent(), kills];
    await eventually(() => requests.sent() > sent + 1_500 && kills > killed + 4, 300_000);
    await Promise.all([requests.stop(), ...stops.map((stop) => stop())]);

    // A plant that is written after all else, up to which each reads, and to the end of its walk.
    await execute(url, `insert into plants (id, name) values ($1, 'the last one')`, [++otherId]);
    for (const one of consumers) await eventually(async () => (await step(one, pages(0))) && one.copy.has(otherId));
    const table = await storedPlantsAt(url);
    for (const { copy } of consumers) expect(differences([...copy.values()], table)).toEqual([]);
    expect(requests.contradictions(table)).toEqual([]);
    await eventually(() => agrees(receiver, table), 120_000);
    expect(receiver.forged()).toBe(0);
  },
);

/** Ends one connection of the services that use a database. */
const endBackend = (url: string) =>
  execute(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'plant-store' and pid <> pg_backend_pid() order by random() limit 1`,
  );
