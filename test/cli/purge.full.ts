import { expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../support/api-client.ts';
import { openTransaction } from '../support/disturbances.ts';
import { eventually } from '../support/eventually.ts';
import { atEnd, forAllTests, forEachTest } from '../support/lifetimes.ts';
import { freeze } from '../support/servers/local-process.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';
import { projectFile, runCommand, startNode, startWith } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

/* Ids that are free again, and statements that the service has given up but that still run. */

const plant = { body: '{"id":1,"name":"Monstera"}' };
const NONE = 'no such plant was deleted at least an hour ago (see --help)\n';

// Of its own: a purge leaves what a transaction that other tests leave open may still overtake.
const server = forAllTests(() => ownPostgres());
const database = forEachTest(() => migratedDatabase(server.url));
const service = forEachTest(async () =>
  startWith({
    DATABASE_URL: database.directUrl,
    STATEMENT_TIMEOUT: '200ms',
    STORE_TIMEOUT: '20s',
  }),
);

const purge = (...args: string[]) => runCommand('purge', args, { DATABASE_URL: database.directUrl });

async function answers(client: ApiClient, ...requests: [Parameters<ApiClient['send']>[0], string][]) {
  const answered: number[] = [];
  for (const [method, path] of requests) {
    const { error, status } = await client.send(method, path, method === 'POST' ? plant : {});
    answered.push(error ?? status);
  }
  return answered;
}

/** Stops all backends of the service. @returns what lets them go on, and resolves once they have ended */
async function freezeBackends(): Promise<() => Promise<void>> {
  const backends =
    "select pid from pg_stat_activity where application_name = 'plant-store' and datname = current_database()";
  const pids = (await database.query(backends)).map(({ pid }) => Number(pid));
  expect(pids.length).toBeGreaterThan(0);
  const goOn = freeze(pids);
  atEnd(goOn);
  return async () => {
    goOn();
    const left = `${backends} and pid in (${pids})`;
    await eventually(async () => (await database.query(left)).length === 0);
  };
}

test('an INSERT that was given up does not bring a deleted plant back', async () => {
  const client = apiClient(service.apiUrl);
  expect(await answers(client, ['GET', '/plants/1'])).toEqual([40401]);
  const goOn = await freezeBackends();
  expect(await answers(client, ['POST', '/plants'], ['DELETE', '/plants/1'])).toEqual([200, 204]);
  expect((await purge('--id', '1', '--yes')).stderr).toContain(`0 deleted plants forgotten: ${NONE}`);
  await goOn();
  expect(await answers(client, ['GET', '/plants/1'])).toEqual([41000]);
});

test('a deletion that was given up does not delete another plant that got the id', async () => {
  const client = apiClient(service.apiUrl);
  expect(await answers(client, ['POST', '/plants'])).toEqual([200]);
  const goOn = await freezeBackends();
  expect(await answers(client, ['DELETE', '/plants/1'])).toEqual([204]);
  expect((await purge('--deleted-before', '0s', '--yes')).stderr).toContain(`0 deleted plants forgotten: ${NONE}`);
  expect(await answers(client, ['POST', '/plants'])).toEqual([40010]);
  await goOn();
  expect(await answers(client, ['GET', '/plants/1'])).toEqual([41000]);
});

test('an id is free an hour after its deletion', async () => {
  await database.query(`insert into plants (id, name, deleted)
    select n, '', now() - n * interval '20 minutes' from generate_series(1, 5) as n`);
  expect((await purge('--deleted-before', '0s')).stderr).toMatch(/^3 deleted plants would be/m);
  expect((await purge('--deleted-before', '90m')).stderr).toMatch(/^1 deleted plant would be/m);
  expect((await purge('--id', '2', '--yes')).stderr).toContain(`0 deleted plants forgotten: ${NONE}`);
  expect((await purge('--deleted-before', '30m', '--yes')).stderr).toMatch(/^3 deleted plants forgotten/m);
  expect(await database.query('select id from plants order by id')).toEqual([{ id: '1' }, { id: '2' }]);
});

/** Locks the plant until the end of the test, or until it is called. */
async function locked(id: number): Promise<() => Promise<void>> {
  const other = await openTransaction(database.directUrl, `select from plants where id = ${id} for update`);
  return () => other.end();
}

test.each([
  ['SIGTERM', { code: 143, signal: null }, 'Stopping; a second signal stops at once.\n'],
  ['SIGKILL', { code: null, signal: 'SIGKILL' }, ''],
] as const)(
  'a purge that %s interrupts has forgotten a part, and goes on when it runs again',
  async (name, exit, said) => {
    await database.query(`insert into plants (id, name, deleted)
    select n, '', now() - interval '1 day' from generate_series(1, 12000) as n`);
    // In a later part.
    const unlock = await locked(7_000);
    const args = [projectFile('src/purge.ts'), '--deleted-before', '1h', '--yes'];
    const interrupted = startNode(args, projectFile(''), { DATABASE_URL: database.directUrl });
    const statements =
      "select pid from pg_stat_activity where datname = current_database() and query ~ 'delete from plants'";
    const waiting = `${statements} and wait_event_type = 'Lock'`;
    await eventually(async () => (await database.query(waiting)).length === 1);
    interrupted.kill(name);
    await interrupted.until(() => interrupted.stderr().includes(said));
    await unlock();
    expect(await interrupted.exited).toEqual(exit);
    await eventually(
      async () => (await database.query(`${statements} and state = 'active' and pid <> pg_backend_pid()`)).length === 0,
    );

    const [{ first, forgotten } = {}] = await database.query(
      'select min(id) as first, max(purged_id) as forgotten from plants, change_feed',
    );
    expect([first, forgotten]).toEqual(['7001', '7000']);
    expect((await purge('--deleted-before', '1h', '--yes')).stderr).toMatch(/^5,000 deleted plants forgotten/m);
  },
);
