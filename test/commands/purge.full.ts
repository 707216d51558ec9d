import { expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../support/api-client.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { atEnd, forEachTest } from '../support/lifetimes.ts';
import { projectFile, run, startService, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

/* Ids that are free again, and statements that the service has given up but that still run. */

const plant = { body: '{"id":1,"name":"Monstera"}' };
const NONE = 'none like that was deleted at least an hour ago (see --help)\n';

const database = forEachTest(() => migratedDatabase());
const service = forEachTest(async () =>
  startService(await temporaryFolder(), {
    DATABASE_URL: database.directUrl,
    ACCESS_TOKENS: TOKEN,
    STATEMENT_TIMEOUT: '200ms',
    STORE_TIMEOUT: '20s',
  }),
);

function purge(...args: string[]) {
  return run(process.execPath, [projectFile('src/purge.ts'), ...args], { DATABASE_URL: database.directUrl });
}

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
  const signal = (name: NodeJS.Signals) => {
    for (const pid of pids) process.kill(pid, name);
  };
  signal('SIGSTOP');
  let goOn = () => signal('SIGCONT');
  atEnd(() => goOn());
  return async () => {
    goOn();
    goOn = () => {};
    const left = `${backends} and pid in (${pids})`;
    await eventually(async () => (await database.query(left)).length === 0);
  };
}

test('an INSERT that was given up does not bring a deleted plant back', async () => {
  const client = apiClient(service.apiUrl);
  expect(await answers(client, ['GET', '/plants/1'])).toEqual([40401]);
  const goOn = await freezeBackends();
  expect(await answers(client, ['POST', '/plants'], ['DELETE', '/plants/1'])).toEqual([200, 204]);
  expect((await purge('--id', '1', '--yes')).stderr).toBe(`0 deleted plants forgotten: ${NONE}`);
  await goOn();
  expect(await answers(client, ['GET', '/plants/1'])).toEqual([41000]);
});

test('a deletion that was given up does not delete another plant that got the id', async () => {
  const client = apiClient(service.apiUrl);
  expect(await answers(client, ['POST', '/plants'])).toEqual([200]);
  const goOn = await freezeBackends();
  expect(await answers(client, ['DELETE', '/plants/1'])).toEqual([204]);
  expect((await purge('--deleted-before', '0s', '--yes')).stderr).toBe(`0 deleted plants forgotten: ${NONE}`);
  expect(await answers(client, ['POST', '/plants'])).toEqual([40010]);
  await goOn();
  expect(await answers(client, ['GET', '/plants/1'])).toEqual([41000]);
});

test('an id is free an hour after its deletion, or at once if that is said to be safe', async () => {
  await database.query(`insert into plants (id, name, deleted)
    select n, '', now() - n * interval '20 minutes' from generate_series(1, 5) as n`);
  expect((await purge('--deleted-before', '0s')).stderr).toMatch(/^3 deleted plants would be/);
  expect((await purge('--deleted-before', '90m')).stderr).toMatch(/^1 deleted plant would be/);
  expect((await purge('--id', '2', '--even-if-recent', '--yes')).stderr).toMatch(/^1 deleted plant forgotten/);
  expect((await purge('--deleted-before', '30m', '--even-if-recent', '--yes')).stderr).toMatch(
    /^3 deleted plants forgotten/,
  );
  expect(await database.query('select id from plants')).toEqual([{ id: '1' }]);
});
