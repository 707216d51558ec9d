import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execute } from '../../tooling/execute.ts';
import { eventually } from '../support/eventually.ts';
import { sorted } from '../support/plants/changes.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';
import { temporaryFolder } from '../support/service-process.ts';
import { applyMigrations, migratedDatabase, storedPlantsAt, type TestDatabase } from '../support/test-database.ts';
import { living, type Receiver, startReceiver } from '../support/webhooks/webhook-receiver.ts';
import {
  announced,
  create,
  rename,
  rewind,
  sendTo,
  startAnnouncing,
  stopped,
} from '../support/webhooks/webhook-service.ts';

/*
 * A webhook after pg_dump and a restore of an older state (webhook-store has every kind of it, made by statements). The
 * programs are Debian's, which are as old as the servers of the cluster: npm's Postgres has none, and an older pg_dump
 * refuses a newer server.
 */

const run = promisify(execFile);

let database: TestDatabase;
let receiver: Receiver;
/** Files of pg_dump: of the database, and of the plants alone. */
let dumps: { readonly all: string; readonly plants: string };

/** The plants 1 and 2 are announced and 3 is not when it is dumped. Then 3 is, 1 is changed, and 4 is created. */
beforeEach(async () => {
  database = await migratedDatabase(process.env.PATRONI_URL);
  receiver = await startReceiver();
  const url = database.directUrl;
  // More than a new server has had.
  await database.query('do $$ begin for n in 1..3000 loop perform pg_current_xact_id(); commit; end loop; end $$');
  await announced(url, receiver, create(1n), create(2n));
  await database.query(`insert into plants values (3, 'plant 3')`);
  const folder = await temporaryFolder();
  const dump = async (...tables: string[]) => {
    const file = join(folder, tables.join() || 'all');
    const choice = tables.map((table) => `--table=${table}`);
    await run('pg_dump', ['--clean', '--if-exists', ...choice, `--file=${file}`, url]);
    return file;
  };
  dumps = { all: await dump(), plants: await dump('plants') };
  expect(await announced(url, receiver, rename(1n, 'later'), create(4n))).toEqual(new Set([1n, 3n, 4n]));
});
afterEach(() => database.drop());

async function restore(file: string, url: string): Promise<void> {
  await run('psql', ['--quiet', '--set=ON_ERROR_STOP=1', `--file=${file}`, url]);
  await applyMigrations(url);
}

/** Expects that the receiver has each plant as it is stored. */
async function hasAll(url: string): Promise<void> {
  const table = await storedPlantsAt(url);
  expect(living(receiver, table)).toEqual(sorted(table));
}

test('goes on from its place of then on a server that has had fewer transactions', async () => {
  const { url } = await ownPostgres(['fsync=off']);
  await restore(dumps.all, url);
  const [feed] = await execute(url, 'select shift from change_feed');
  expect(Number(feed?.shift)).toBeGreaterThan(0);
  expect(await announced(url, receiver, create(5n))).toEqual(new Set([3n, 5n]));
  expect(sorted(await storedPlantsAt(url)).map(({ id }) => id)).toEqual([1n, 2n, 3n, 5n]);
  // That of a change which is lost.
  expect(receiver.copy.get(1n)?.plant.name).toBe('later');
  await rewind(url, receiver);
  await announced(url, receiver);
  await hasAll(url);
});

test('is parked if the plants alone are restored, until it is rewound', async () => {
  const url = database.directUrl;
  await restore(dumps.plants, url);
  const before = receiver.received.length;
  const service = await startAnnouncing(url, receiver);
  expect(await sendTo(service)(...create(5n))).toBe(200);
  const ready = async () => (await fetch(`${service.managementUrl}/ready`)).text();
  await eventually(async () => (await ready()).includes('is parked'));
  await stopped(service);
  expect(receiver.received).toHaveLength(before);
  await rewind(url, receiver);
  expect(await announced(url, receiver)).toEqual(new Set([1n, 2n, 3n, 5n]));
  await hasAll(url);
});
