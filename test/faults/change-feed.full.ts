import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { storeCalls } from '../../src/adapters/postgres/calls/store-call.ts';
import { plantPurge } from '../../src/adapters/postgres/changes/plant-purge.ts';
import { embeddedDatabase } from '../../src/adapters/postgres/embedded/embedded-database.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { execute } from '../../tooling/execute.ts';
import { markdownTable } from '../../tooling/markdown-table.ts';
import { type ApiClient, apiClient } from '../support/api-client.ts';
import { putEmbeddedDatabase } from '../support/embedded-template.ts';
import { eventually } from '../support/eventually.ts';
import { type MortalService, startMortalService } from '../support/faults/crash-rounds.ts';
import { applyTo, type Consumer, consumer, pagesOver, type ReadPage, sorted } from '../support/plants/changes.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';
import { applyMigrations, connect, storedPlants, storedPlantsAt } from '../support/test-database.ts';

/*
 * The feed of changes under fire: whatever happens to writers, services, backends and to the consumers themselves, a
 * consumer's copy is the table in the end. A round each in npm run test:full, twenty in npm run test:faults; the
 * consumers of a test follow on through all its rounds.
 */

const WRITERS = 8;
/** Ids that all writers share; each other plant has an id of its own. */
const SHARED = 60;

/** What a round needs to have seen before it ends. */
interface Enough {
  readonly writes: number;
  readonly kills: number;
  readonly forgotten: number;
}

/** What has happened in all rounds. */
function counters() {
  return { writes: 0, unavailable: 0, kills: 0, forgotten: 0, foreign: 0, pages: 0, crashes: 0, rounds: 0 };
}
type Counters = ReturnType<typeof counters>;

/** Numbers for ids that nobody else uses. */
let fresh = 1_000n;
const pick = <T>(all: readonly T[]) => all[randomInt(all.length)] as T;
const chance = (percent: number) => randomInt(100) < percent;

/** Something that goes on until the round is over. */
type Activity = (isOver: () => boolean) => Promise<void>;

/** Creates, changes and deletes; sends some creations again. */
function writer(clients: readonly ApiClient[], count: Counters): Activity {
  let last = '{"id":0,"name":""}';
  return async (isOver) => {
    while (!isOver()) {
      const id = chance(70) ? randomInt(SHARED) : fresh++;
      const content = `"name":"${randomInt(1_000)}"${chance(50) ? ',"tag":"tag"' : ''}}`;
      if (chance(50)) last = `{"id":${id},${content}`;
      const client = pick(clients);
      try {
        const { status, body } = await pick([
          () => client.send('POST', '/plants', { body: chance(80) ? `{"id":${id},${content}` : last }),
          () => client.send('PUT', `/plants/${id}`, { body: `{${content}` }),
          () => client.send('DELETE', `/plants/${id}`),
        ])();
        if (status === 503) count.unavailable++;
        else if (status < 500) count.writes++;
        else throw new RangeError(`${status}: ${body}`);
      } catch (error) {
        if (error instanceof RangeError) throw error;
        // The service was killed.
        await delay(20);
      }
    }
  };
}

/** Follows the feed, and is killed at random. */
function follower(one: Consumer, read: ReadPage, count: Counters): Activity {
  return async (isOver) => {
    while (!isOver()) {
      if (await stepped(one, read, count)) await delay(5);
      if (chance(10)) one.persist();
      if (!chance(4)) continue;
      one.crash();
      count.crashes++;
    }
  };
}

async function stepped(one: Consumer, read: ReadPage, count: Counters): Promise<boolean> {
  try {
    const isEnd = await one.step(read, pick([1, 7, 100, 1_000]));
    count.pages++;
    return isEnd;
  } catch (error) {
    if (error instanceof RangeError) throw error;
    // The service was killed, or is unavailable.
    await delay(20);
    return false;
  }
}

/** Pages of any instance. @param wait seconds */
const pagesOf = (clients: readonly ApiClient[], wait: number) => pagesOver(() => pick(clients), wait);

/** Does all of it at once until enough has happened, and rejects with the first that fails. */
async function fire(
  activities: readonly Activity[],
  count: Counters,
  enough: Enough,
  isEnough = () => true,
): Promise<void> {
  const before = { ...count };
  let isOver = false;
  const all = Promise.all(activities.map((activity) => activity(() => isOver)));
  // Reported below.
  all.catch(() => {
    isOver = true;
  });
  const names = ['writes', 'kills', 'forgotten'] as const;
  try {
    const isDone = () => names.every((name) => count[name] >= before[name] + enough[name]) && isEnough();
    await eventually(() => isOver || isDone(), 120_000);
  } finally {
    isOver = true;
    await all;
  }
}

function restartsOf(consumers: readonly Consumer[]): number {
  return consumers.reduce((sum, one) => sum + one.restarts(), 0);
}

/** Lets each consumer read on to a plant that is written after all else, and to the end of its walk. */
async function settle(consumers: readonly Consumer[], clients: readonly ApiClient[], count: Counters): Promise<void> {
  const last = fresh++;
  const create = () => clients[0]?.send('POST', '/plants', { body: `{"id":${last},"name":"the last one"}` });
  await eventually(async () => (await create()?.catch(() => undefined))?.status === 200);
  const read = pagesOf(clients, 0);
  for (const one of consumers) await eventually(async () => (await stepped(one, read, count)) && one.copy.has(last));
}

const report: string[][] = [];
afterAll(() => {
  const head = ['feed of', 'rounds', 'writes', 'kills', 'forgotten', 'foreign transactions', 'pages', 'restarts'];
  process.stdout.write(`\n${markdownTable([...head, 'consumer kills', 'lost'], report)}\n\n`);
});

function addToReport(name: string, count: Counters, consumers: readonly Consumer[], lost: number): void {
  const restarts = restartsOf(consumers);
  const { rounds, writes, kills, forgotten, foreign, pages, crashes } = count;
  report.push([name, ...[rounds, writes, kills, forgotten, foreign, pages, restarts, crashes, lost].map(String)]);
}

/** Plants that the copy has not as the table has them, or has though the table does not. */
function differences(copy: ReadonlyMap<bigint, NewPlant>, table: readonly NewPlant[]): NewPlant[] {
  const key = ({ id, name, tag }: NewPlant) => `${id} ${JSON.stringify([name, tag])}`;
  const [inCopy, inTable] = [new Set([...copy.values()].map(key)), new Set(table.map(key))];
  return [
    ...table.filter((one) => !inCopy.has(key(one))),
    ...[...copy.values()].filter((one) => !inTable.has(key(one))),
  ];
}

test(
  'a consumer of a feed on Postgres loses nothing, and one that followed a sequence number would',
  async () => {
    const postgres = await ownPostgres(['fsync=off']);
    await applyMigrations(postgres.url);
    // The control: each write takes the next number, in whatever order they are committed.
    await execute(
      postgres.url,
      `alter table plants add column number bigserial;
       create index on plants (number);
       create function renumber() returns trigger language plpgsql
         as $$ begin new.number := nextval('plants_number_seq'); return new; end $$;
       create trigger renumber before update on plants for each row execute function renumber()`,
    );
    const environment = () => ({ DATABASE_URL: postgres.url, LOG_LEVEL: 'fatal' });
    const services = await Promise.all([startMortalService(environment), startMortalService(environment)]);
    const clients = services.map(({ url }) => apiClient(url));
    const count = counters();
    const consumers = [consumer(), consumer(), consumer()];
    const control = numberedCopy(postgres.url);
    let [lost, lostByControl] = [0, 0];
    try {
      for (let round = 0; round < faultRounds; round++) {
        const activities = [
          ...Array.from({ length: WRITERS }, () => writer(clients, count)),
          ...consumers.map((one, n) => follower(one, pagesOf(clients, n), count)),
          foreignWriter(postgres.url, count),
          foreignWriter(postgres.url, count),
          killer(postgres.url, services, count),
          control.follow,
        ];
        const purging = [...activities, purger(postgres.url, count)];
        await fire(purging, count, { writes: 500, kills: 2, forgotten: 20 }, () => restartsOf(consumers) > 0);
        // Consumers that start again would not show what they had missed.
        await fire(activities, count, { writes: 1_500, kills: 4, forgotten: 0 });
        count.rounds++;
        await settle(consumers, clients, count);
        const table = await storedPlantsAt(postgres.url);
        for (const { copy } of consumers) lost += differences(copy, table).length;
        for (const { copy } of consumers) expect(differences(copy, table)).toEqual([]);
        // It does not learn what was purged: only what the table has counts.
        lostByControl += await control.missing(table);
      }
    } finally {
      addToReport('Postgres', count, consumers, lost);
      addToReport('Postgres, in the order of a sequence', count, [], lostByControl);
      for (const each of clients) each.close();
      await control.close();
    }
    expect(lostByControl).toBeGreaterThan(0);
  },
  30 * 60_000,
);

test(
  'a consumer of a feed on the embedded database loses nothing',
  async () => {
    const folder = await temporaryFolder();
    await putEmbeddedDatabase(folder);
    const service = await startMortalService(() => ({ DATA_DIR: folder, LOG_LEVEL: 'fatal' }));
    const clients = [apiClient(service.url)];
    const count = counters();
    const consumers = [consumer(), consumer()];
    let lost = 0;
    try {
      for (let round = 0; round < faultRounds; round++) {
        const activities = [
          ...Array.from({ length: WRITERS }, () => writer(clients, count)),
          ...consumers.map((one, n) => follower(one, pagesOf(clients, n), count)),
        ];
        const kills = (mayPurge: boolean) => embeddedKiller(folder, service, count, mayPurge);
        const purging = [...activities, kills(true)];
        await fire(purging, count, { writes: 200, kills: 1, forgotten: 1 }, () => restartsOf(consumers) > 0);
        await fire([...activities, kills(false)], count, { writes: 300, kills: 1, forgotten: 0 });
        count.rounds++;
        await settle(consumers, clients, count);
        await service.kill();
        const database = await embeddedDatabase(folder);
        const table = await storedPlants(database);
        await database.close();
        await service.start();
        for (const { copy } of consumers) lost += differences(copy, table).length;
        for (const { copy } of consumers) expect(sorted(copy.values())).toEqual(sorted(table));
      }
    } finally {
      addToReport('the embedded database', count, consumers, lost);
      for (const each of clients) each.close();
    }
  },
  30 * 60_000,
);

/** A session that writes to plants, before and after the time for which it is left open. */
function foreignWriter(url: string, count: Counters): Activity {
  return async (isOver) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    const write = () =>
      chance(50)
        ? client.query(`insert into plants (id, name) values ($1, 'foreign')`, [fresh++])
        : client.query(`update plants set name = $1, changed = default where id = $2 and deleted is null`, [
            `foreign ${randomInt(1_000)}`,
            randomInt(SHARED),
          ]);
    while (!isOver()) {
      try {
        await client.query('begin; select pg_current_xact_id()');
        if (chance(70)) await write();
        await delay(randomInt(300));
        if (chance(70)) await write();
        await client.query(chance(80) ? 'commit' : 'rollback');
        count.foreign++;
      } catch {
        // A deadlock.
        await client.query('rollback');
      }
      await delay(randomInt(100));
    }
    await client.end();
  };
}

function purger(url: string, count: Counters): Activity {
  return async (isOver) => {
    const database = connect(url);
    const purge = plantPurge(database, storeCalls({ schemaReady: () => undefined, timeout: 20_000 }));
    while (!isOver()) {
      for await (const forgotten of purge({ minAge: 0, id: undefined }, false)) count.forgotten += forgotten;
      await delay(randomInt(400));
    }
    await database.close();
  };
}

/** Kills an instance, or ends a connection of one. */
function killer(url: string, services: readonly MortalService[], count: Counters): Activity {
  const BACKEND = `select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'plant-store' and pid <> pg_backend_pid() order by random() limit 1`;
  return async (isOver) => {
    while (!isOver()) {
      await delay(randomInt(500));
      if (chance(60)) {
        await execute(url, BACKEND);
      } else {
        const service = pick(services);
        await service.kill();
        await service.start();
      }
      count.kills++;
    }
  };
}

/** Kills the service, and may purge before it starts again: only one process may open the folder. */
function embeddedKiller(folder: string, service: MortalService, count: Counters, mayPurge: boolean): Activity {
  return async (isOver) => {
    while (!isOver()) {
      const enough = count.writes + 100 + randomInt(150);
      await eventually(() => isOver() || count.writes >= enough);
      await service.kill();
      if (mayPurge) count.forgotten += await purgeProcess(folder);
      await service.start();
      count.kills++;
    }
  };
}

/** Runs `npm run purge`. @returns how many plants it has forgotten */
async function purgeProcess(folder: string): Promise<number> {
  const args = [projectFile('src/purge.ts'), '--deleted-before', '0s', '--yes'];
  const purge = startNode(args, folder, { DATA_DIR: folder });
  const { code } = await purge.exited;
  if (code !== 0) throw new Error(purge.stderr());
  return Number(/([\d,]+) deleted plants? forgotten/.exec(purge.stdout() + purge.stderr())?.[1]?.replaceAll(',', ''));
}

/** A copy that follows the numbers that writes have taken, as many do. */
function numberedCopy(url: string) {
  const copy = new Map<bigint, NewPlant>();
  let last = 0n;

  async function step(client: Client): Promise<boolean> {
    const { rows } = await client.query(
      'select id, name, tag, deleted, number from plants where number > $1 order by number limit 100',
      [last],
    );
    for (const { id, name, tag, deleted, number } of rows) {
      const key = BigInt(id);
      applyTo(copy, [deleted ? { id: key, deleted: true } : { id: key, name, ...(tag !== null && { tag }) }]);
      last = BigInt(number);
    }
    return rows.length === 0;
  }

  const client = new Client({ connectionString: url });
  const connected = client.connect();
  const follow: Activity = async (isOver) => {
    await connected;
    while (!isOver()) if (await step(client)) await delay(5);
  };
  return {
    follow,
    /** How many plants it does not have as the table has them, although it has read all. */
    async missing(table: readonly NewPlant[]): Promise<number> {
      while (!(await step(client)));
      return differences(copy, table).filter((plant) => table.includes(plant)).length;
    },
    close: () => client.end(),
  };
}
