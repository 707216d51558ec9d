import { rm, writeFile } from 'node:fs/promises';
import { connect as connectTo, createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { CompiledQuery, sql } from 'kysely';
import type { Database } from '../../../../src/adapters/postgres/connections/pool.ts';
import { eventually } from '../../../support/eventually.ts';
import { forAllTests, forEachTest } from '../../../support/lifetimes.ts';
import { readToEnd } from '../../../support/plants/changes.ts';
import { listening } from '../../../support/servers/local-server.ts';
import { startTcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { temporaryFolder } from '../../../support/service-process.ts';
import {
  applyMigrations,
  connect,
  emptyDatabase,
  migratedDatabase,
  plantsIn,
  storedPlants,
} from '../../../support/test-database.ts';

/* Which connections are used again, seen through a network that fails. */

const CONNECTIONS = 8;
const STATEMENT_TIMEOUT = 500;

const server = forAllTests(migratedDatabase);
const network = forEachTest(() => startTcpProxy(server.url));
let database: Database;
beforeEach(async () => {
  await server.query('truncate plants');
  database = connect(network.url, { poolSize: 10, statementTimeout: STATEMENT_TIMEOUT });
});

async function openConnections(database: Database): Promise<void> {
  const pause = () => database.sql.executeQuery(CompiledQuery.raw('select pg_sleep(0.1)'));
  await Promise.all(Array.from({ length: CONNECTIONS }, pause));
  expect(network.connections()).toBe(CONNECTIONS);
}

test('trusts no other old connection once one has fallen silent', async () => {
  // Less than two of them can be waited for, which takes four times this. Half of that is left for the new one.
  const statementTimeout = 2_000;
  const slow = connect(network.url, { poolSize: 10, statementTimeout });
  const plants = plantsIn(slow, { timeout: 4 * statementTimeout - 100 });
  await openConnections(slow);
  expect(await plants.find(100n)).toBeUndefined();

  network.swallow();
  network.pass();
  const after = { id: 100n, name: 'after' };
  expect(await plants.add(after)).toBe('created');
  expect(await storedPlants(slow)).toEqual([after]);
  await eventually(() => network.connections() === 1);
});

test.each([1, 2])('gives up a silent connection of a pool of %i as well', async (poolSize) => {
  const small = connect(network.url, { poolSize, statementTimeout: STATEMENT_TIMEOUT });
  const plants = plantsIn(small, { timeout: 10 * STATEMENT_TIMEOUT });
  await plants.add({ id: 1n, name: 'before' });
  network.swallow();
  network.pass();
  const after = { id: 2n, name: 'after' };
  expect(await plants.add(after)).toBe('created');
});

test('is unavailable once it is closed: what comes late, or is repeated, is no defect', async () => {
  const plants = plantsIn(database);
  await plants.add({ id: 1n, name: 'before' });
  await database.close();
  await expect(plants.find(1n)).rejects.toMatchObject({ code: 'store_unavailable' });
});

test('new connections have the certificates of before if their files cannot be read', async () => {
  const file = join(await temporaryFolder(), 'authority.pem');
  await writeFile(file, 'not read without TLS');
  const small = connect(`${server.url}?sslmode=disable&sslrootcert=${file}`, { poolSize: 1 });
  const backend = async () =>
    (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(small.sql)).rows[0]?.pid;
  const first = await backend();
  const slow = expect(sql`select pg_sleep(60)`.execute(small.sql)).rejects.toThrow();
  const waiting = backend();
  await rm(file);
  await server.query(`select pg_terminate_backend(${first}, 5000)`);
  await slow;
  expect(await waiting).not.toBe(first);
});

test.each([
  // In one packet with the response to a new connection's first statement, pg hands out what it has closed itself.
  ['is shut down just after it has opened one', 'isDirect', 'shutdown'],
  ['responds with what is not its protocol', 'from plants', 'garbage'],
] as const)('takes a connection for lost if the server %s', async (_, statement, fault) => {
  const ended = network.cutNext(statement, fault);
  expect(await plantsIn(database).find(1n)).toBeUndefined();
  await ended;
});

test('closes no other connection after a value that cannot be encoded', async () => {
  await openConnections(database);
  const endless: { self?: unknown } = {};
  endless.self = endless;
  await expect(database.sql.executeQuery(CompiledQuery.raw('select $1', [endless]))).rejects.toThrow(TypeError);
  await storedPlants(database);
  await eventually(() => network.connections() < CONNECTIONS);
  expect(network.connections()).toBe(CONNECTIONS - 1);
});

test('a warning that is not of a missing standby leaves a commit confirmed', async () => {
  const warning = "do $$ begin raise warning 'the database must be vacuumed'; end $$";
  await expect(database.sql.executeQuery(CompiledQuery.raw(warning))).resolves.toBeDefined();
});

test('leaves out start-up parameters that are refused, and says what the role lacks', async () => {
  const server = new URL((await migratedDatabase()).url);
  const refusal = (option: string) => {
    const message = `Feature not supported: RDS Proxy currently doesn't support the option ${option}.`;
    const fields = Buffer.from(`SFATAL\0C0A000\0M${message}\0\0`);
    return Buffer.concat([Buffer.of(0x45, 0, 0, 0, 4 + fields.length), fields]);
  };
  const proxy = createServer((client) => {
    client.once('data', (startup) => {
      const refused = ['statement_timeout', 'lock_timeout'].find((name) => startup.includes(name));
      if (refused !== undefined) {
        client.end(refusal(refused));
        return;
      }
      const forwarded = connectTo(Number(server.port), server.hostname);
      for (const socket of [client, forwarded]) socket.on('error', () => {});
      client.on('close', () => forwarded.destroy());
      forwarded.write(startup);
      client.pipe(forwarded).pipe(client);
    });
  });
  const proxied = connect(Object.assign(new URL(server), { host: `127.0.0.1:${await listening(proxy)}` }).href);
  expect(await storedPlants(proxied)).toEqual([]);
  await expect(proxied.verify()).rejects.toThrow(/^lock_timeout is 0 ms and statement_timeout is 0 ms for this role/);
});

test('migrates, and stores and reads a plant as it is, whatever settings the role has', async () => {
  const { url, query } = await emptyDatabase();
  const others = {
    array_nulls: 'off',
    client_min_messages: 'error',
    default_transaction_isolation: 'serializable',
    exit_on_error: 'on',
    jit: 'on',
    row_security: 'on',
    standard_conforming_strings: 'off',
  };
  for (const [name, value] of Object.entries(others))
    await query(`alter role postgres in database ${new URL(url).pathname.slice(1)} set ${name} = '${value}'`);
  await applyMigrations(url);
  const connected = connect(url);
  const plants = plantsIn(connected);
  const untagged = { id: 1n, name: 'a\\b' };
  expect(await plants.add(untagged)).toBe('created');
  expect(await plants.find(1n)).toEqual(untagged);
  // A transaction that other tests leave open holds back the log.
  await eventually(async () => (await readToEnd(plants)).changes.length === 1);
  const { rows } = await sql<{ name: keyof typeof others; setting: string }>`
    select name, setting from pg_settings where name = any(${Object.keys(others)})`.execute(connected.sql);
  expect(rows.filter(({ name, setting }) => others[name] === setting)).toEqual([]);
  await expect(connected.verify()).resolves.toBeUndefined();
});

test('keeps scans of whole tables out of plans that last, but not out of migrations', async () => {
  const scans = async (statementTimeout: number) => {
    const connected = connect(server.directUrl, { poolSize: 1, statementTimeout });
    return (await sql`show enable_seqscan`.execute(connected.sql)).rows;
  };
  expect(await scans(STATEMENT_TIMEOUT)).toEqual([{ enable_seqscan: 'off' }]);
  expect(await scans(0)).toEqual([{ enable_seqscan: 'on' }]);
});

test.each([
  ['off', 'on'],
  ['local', 'on'],
  ['remote_apply', 'remote_apply'],
])('waits for commits of a role with synchronous_commit = %s as with %s', async (roles, own) => {
  const { url, query } = await migratedDatabase();
  await query(`alter role postgres in database ${new URL(url).pathname.slice(1)} set synchronous_commit = ${roles}`);
  const connected = connect(url);
  const { rows } = await sql<{ synchronous_commit: string }>`show synchronous_commit`.execute(connected.sql);
  expect(rows).toEqual([{ synchronous_commit: own }]);
  await expect(connected.verify()).resolves.toBeUndefined();
});

describe('creates of any number share a prepared statement', () => {
  const prepared = async ({ sql }: ReturnType<typeof connect>) =>
    (await sql.executeQuery(CompiledQuery.raw('select name from pg_prepared_statements'))).rows;

  test('on a direct connection', async () => {
    const small = connect(network.url, { poolSize: 1 });
    const plants = plantsIn(small);
    for (const count of [1, 2, 5]) {
      const adding = Array.from({ length: count }, (_, n) => plants.add({ id: BigInt(10 * count + n), name: 'plant' }));
      expect(await Promise.all(adding)).toEqual(adding.map(() => 'created'));
    }
    expect(await prepared(small)).toEqual([{ name: 'insert_plants' }]);
  });

  test.each([
    ['is not there', 'deallocate all', true],
    ['is there already', 'prepare insert_plants as select 1', false],
  ])('until it %s, as behind a pooler that passes for the server', async (_, statement, isLater) => {
    const small = connect(network.url, { poolSize: 1 });
    const plants = plantsIn(small);
    if (isLater) await plants.add({ id: 1n, name: 'before' });
    await small.sql.executeQuery(CompiledQuery.raw(statement));
    expect(await plants.add({ id: 2n, name: 'after' })).toBe('created');
    expect(await plants.add({ id: 3n, name: 'after' })).toBe('created');
    expect(await prepared(small)).toEqual([]);
  });
});
