import { globSync } from 'node:fs';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { Database } from '../../src/adapters/postgres/connections/pool.ts';
import { execute } from '../../tooling/execute.ts';
import { eventually, eventuallySucceeds } from '../support/eventually.ts';
import { crashRounds, startMortalService } from '../support/faults/crash-rounds.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { startPgBouncer } from '../support/servers/pgbouncer.ts';
import { projectFile, startNode } from '../support/service-process.ts';
import { connect, migratedDatabase, storedPlants } from '../support/test-database.ts';

/* Behind PgBouncer in transaction mode. Migrations go past it: they hold a lock of their session. */

jest.setTimeout(600_000);

const database = forAllTests(() => migratedDatabase());

test('loses nothing when it is restarted under load', async () => {
  const pooler = await startPgBouncer(database.directUrl);
  const service = await startMortalService(() => ({ DATABASE_URL: pooler.url, STORE_TIMEOUT: '60s' }));
  const direct = connect(database.directUrl);
  await crashRounds({
    killed: 'PgBouncer, SIGTERM',
    urls: [service.url],
    crash: pooler.restart,
    serviceLives: true,
    isPatient: true,
    rows: () => storedPlants(direct),
  });
});

describe('the settings of sessions', () => {
  const alterRole = (what: string) =>
    database.query(`alter role postgres in database ${new URL(database.directUrl).pathname.slice(1)} ${what}`);
  const setLimits = async () => {
    await alterRole("set statement_timeout = '10s'");
    await alterRole("set lock_timeout = '5s'");
  };
  const verify = (pooled: Database) => pooled.verify();
  afterEach(() => alterRole('reset all'));

  test.each([
    ['refuses', []],
    ['drops', ['ignore_startup_parameters = statement_timeout,lock_timeout']],
  ])('whose limits it %s must be the role’s', async (_what, settings) => {
    const pooler = await startPgBouncer(database.directUrl, settings);
    const pooled = connect(pooler.url);
    await expect(pooled.verify()).rejects.toThrow(
      /^lock_timeout is 0 ms and statement_timeout is 0 ms for this role .*: run ALTER ROLE postgres SET/,
    );
    expect(await storedPlants(pooled)).toEqual(expect.any(Array));
    await setLimits();
    await pooler.restart();
    await eventuallySucceeds(() => verify(pooled));
    await expect(verify(pooled)).resolves.toBeUndefined();
    await alterRole("set lock_timeout = '10s'");
    await pooler.restart();
    const advice =
      /^lock_timeout is 10000 ms .* looks like a slow statement: run ALTER ROLE postgres SET lock_timeout = '5000ms', and/;
    await eventually(async () => advice.test((await verify(pooled).catch(() => '')) ?? ''));
  });

  test.each([
    ['array_nulls', 'off', 'on'],
    ['standard_conforming_strings', 'off', 'on'],
    ['client_min_messages', 'error', 'notice'],
    ['synchronous_commit', 'off', 'on'],
  ])('must not have %s = %s, which would change what is stored or known of it', async (name, value, safe) => {
    await setLimits();
    await alterRole(`set ${name} = ${value}`);
    const pooled = connect((await startPgBouncer(database.directUrl)).url);
    await expect(pooled.verify()).rejects.toThrow(
      `${name} is ${value} for this role through this pooler, so plants could be stored wrong, or get 200 and be lost, ` +
        `or a statement outlast its client: run ALTER ROLE postgres SET ${name} = ${safe}, and let the pooler reconnect`,
    );
  });

  test('may be synchronous_commit = local, which is enough without a synchronous standby', async () => {
    await setLimits();
    await alterRole('set synchronous_commit = local');
    const pooler = await startPgBouncer(database.directUrl);
    await expect(connect(pooler.url).verify()).resolves.toBeUndefined();
  });
});

test('passes every test over HTTP that a service on Postgres does', async () => {
  const server = process.env.TEST_SERVER_URL ?? '';
  const pooler = await startPgBouncer(server, ['ignore_startup_parameters = options']);
  // Twice the STATEMENT_TIMEOUT of the services: with more than that, none is ready.
  await execute(server, "alter role postgres set statement_timeout = '2s'");
  await execute(server, "alter role postgres set lock_timeout = '1s'");
  const jest = [projectFile('node_modules/jest/bin/jest.js'), '--selectProjects', 'rest', 'full', '--colors=false'];
  const files = [
    'test/service',
    'test/round-trip.test',
    'test/adapters/metrics/metrics.test',
    'test/fuzz/fuzz',
    'test/adapters/plant-repository',
  ];
  expect(files.filter((file) => globSync(projectFile(`${file}*`)).length === 0)).toEqual([]);
  // Whether PgBouncer's own connections live is its affair.
  const all = ['--testNamePattern', '^(?!.*logs a lost connection once)'];
  const run = startNode(['--experimental-vm-modules', ...jest, ...files, ...all], projectFile('.'), {
    // The limits are not those of the tests' own statements, which a busy machine may delay.
    TEST_DATABASE_URL: `${server}?options=-c%20statement_timeout%3D0%20-c%20lock_timeout%3D0`,
    TEST_POOLER_URL: pooler.url,
  });
  const { code } = await run.exited;
  await execute(server, 'alter role postgres reset all');
  process.stdout.write(run.stderr());
  expect(code).toBe(0);
  // One for each service, at least.
  expect(pooler.logins()).toBeGreaterThan(12);
});
