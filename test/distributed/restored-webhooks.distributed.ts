import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { execute } from '../../tooling/execute.ts';
import { atEnd } from '../support/lifetimes.ts';
import { sorted } from '../support/plants/changes.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';
import { temporaryFolder } from '../support/service-process.ts';
import { applyMigrations, migratedDatabase, storedPlantsAt } from '../support/test-database.ts';
import { living, startReceiver } from '../support/webhooks/webhook-receiver.ts';
import { announced, create, rename, rewind } from '../support/webhooks/webhook-service.ts';

/*
 * A webhook after pg_dump and a restore of an older state (webhook-store has every kind of it, made by statements). The
 * programs are Debian's, which are as old as the servers of the cluster: npm's Postgres has none, and an older pg_dump
 * refuses a newer server.
 */

const run = promisify(execFile);

test('goes on from its place of then on a server that has had fewer transactions', async () => {
  const database = await migratedDatabase(process.env.PATRONI_URL);
  atEnd(database.drop);
  const receiver = await startReceiver();
  // More than a new server has had.
  await database.query('do $$ begin for n in 1..3000 loop perform pg_current_xact_id(); commit; end loop; end $$');
  await announced(database.directUrl, receiver, create(1n), create(2n));
  await database.query(`insert into plants values (3, 'plant 3')`);
  const dump = join(await temporaryFolder(), 'dump');
  await run('pg_dump', ['--clean', '--if-exists', `--file=${dump}`, database.directUrl]);
  const later = await announced(database.directUrl, receiver, rename(1n, 'later'), create(4n));
  expect(later).toEqual(new Set([1n, 3n, 4n]));

  const { url } = await ownPostgres(['fsync=off']);
  await run('psql', ['--quiet', '--set=ON_ERROR_STOP=1', `--file=${dump}`, url]);
  await applyMigrations(url);
  const [feed] = await execute(url, 'select shift from change_feed');
  expect(Number(feed?.shift)).toBeGreaterThan(0);
  expect(await announced(url, receiver, create(5n))).toEqual(new Set([3n, 5n]));
  const table = sorted(await storedPlantsAt(url));
  expect(table.map(({ id }) => id)).toEqual([1n, 2n, 3n, 5n]);
  // That of a change which is lost.
  expect(receiver.copy.get(1n)?.plant.name).toBe('later');
  await rewind(url, receiver);
  await announced(url, receiver);
  expect(living(receiver, table)).toEqual(table);
});
