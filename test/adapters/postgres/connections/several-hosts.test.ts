import { beforeEach, expect, test } from '@jest/globals';
import { CompiledQuery } from 'kysely';
import type { Database } from '../../../../src/adapters/postgres/database.ts';
import { readiness } from '../../../../src/adapters/postgres/readiness.ts';
import { withAdvice } from '../../../../src/adapters/postgres/schema/advice.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { freePort } from '../../../../tooling/free-port.ts';
import { eventually } from '../../../support/eventually.ts';
import { forEachTest } from '../../../support/lifetimes.ts';
import { severalHosts } from '../../../support/servers/several-hosts.ts';
import { startTcpProxy, type TcpProxy } from '../../../support/servers/tcp-proxy.ts';
import {
  connect,
  migratedDatabase,
  plantsIn,
  storedPlants,
  type TestDatabase,
} from '../../../support/test-database.ts';

/* Which host of a URL with several connections go to. Each host is a network of its own in front of one server. */

const STATEMENT_TIMEOUT = 500;
/** Of `connect`. */
const CONNECT_TIMEOUT = 2_000;

const server = forEachTest(() => migratedDatabase());
const standby = forEachTest(() => migratedDatabase());
const first = forEachTest(() => network());
const second = forEachTest(() => network());
beforeEach(() => standby.query(`alter database ${nameOf(standby)} set default_transaction_read_only = on`));

const nameOf = ({ directUrl }: TestDatabase) => new URL(directUrl).pathname.slice(1);

/** A host that leads to the server, or to another database than the one asked for: one that refuses writes, or none. */
const network = (database = nameOf(server)): Promise<TcpProxy> =>
  startTcpProxy(server.directUrl, (opening) =>
    Buffer.from(opening.toString('latin1').replace(nameOf(server), database), 'latin1'),
  );

const readOnlyNetwork = () => network(nameOf(standby));

/** A host on which nothing listens. */
async function refusing(): Promise<{ url: string }> {
  const url = new URL(server.directUrl);
  url.host = `127.0.0.1:${await freePort()}`;
  return { url: url.href };
}

const addressOf = ({ url }: { readonly url: string }) => new URL(url).host;

const connectedTo = (hosts: readonly { readonly url: string }[], options?: Parameters<typeof connect>[1]): Database =>
  connect(severalHosts(...hosts.map(({ url }) => url)), options);

const plant = (id: number): NewPlant => ({ id: BigInt(id), name: `plant ${id}` });

async function silent(): Promise<TcpProxy> {
  const host = await network();
  host.swallow();
  return host;
}

test.each([
  ['refuses connections', refusing],
  ['does not respond', silent],
  ['is read-only', readOnlyNetwork],
])('stores on the second host if the first %s, and stays there', async (_, make) => {
  const database = connectedTo([await make(), second]);
  const plants = plantsIn(database, { batchRows: 1 });
  expect(await plants.add(plant(1))).toEqual(plant(1));
  const start = performance.now();
  await Promise.all([2, 3, 4, 5].map((id) => plants.add(plant(id))));
  // Only the first connection had to wait for the first host.
  expect(performance.now() - start).toBeLessThan(CONNECT_TIMEOUT);
  expect(await storedPlants(database)).toHaveLength(5);
});

test('finds the one host of four that takes writes, for many connections at once', async () => {
  const database = connectedTo([await readOnlyNetwork(), await refusing(), await readOnlyNetwork(), second]);
  const plants = plantsIn(database, { batchRows: 1 });
  await Promise.all(Array.from({ length: 20 }, (_, id) => plants.add(plant(id))));
  expect(await storedPlants(database)).toHaveLength(20);
});

test('says of each host why it cannot be used, without the password', async () => {
  const hosts = [await refusing(), await readOnlyNetwork()];
  const url = severalHosts(...hosts.map((host) => host.url)).replace(/(?<=\/\/)[^@/]*@/, 'postgres:secret@');
  const database = connect(url);
  const [refused, readOnly] = hosts.map(addressOf);
  // Jest's own Error is not Node's, whose messages it prefixes.
  const message = new RegExp(
    `^${refused}: (Error: )?connect ECONNREFUSED ${refused}; ${readOnly}: the server is read-only$`,
  );
  await expect(readiness(database)()).rejects.toThrow(message);
  await expect(plantsIn(database, { timeout: 200 }).add(plant(1))).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(database.description).toBe(`Postgres at ${refused},${readOnly}/${nameOf(server)}`);
});

test('reads nothing from a single host that is read-only', async () => {
  await expect(storedPlants(connectedTo([await readOnlyNetwork()]))).rejects.toThrow('the server is read-only');
});

test("reports an operator's mistake on one host instead of hiding it behind the next", async () => {
  const missing = `no_such_${'x'.repeat(nameOf(server).length - 8)}`;
  const mistaken = await network(missing);
  await expect(readiness(connectedTo([mistaken, second]))()).rejects.toThrow(
    `database "${missing}" does not exist: create it`,
  );
  const refused = await refusing();
  const failure = await storedPlants(connectedTo([refused, mistaken, second])).catch(withAdvice);
  expect(String(failure)).toMatch(/ECONNREFUSED .*; /);
  expect(String(failure)).toContain(`; ${addressOf(mistaken)}: database "${missing}" does not exist: create it`);
});

/** Sends the statement on so many connections at once. */
async function onEach(database: Database, count: number, statement: string): Promise<void> {
  const sent = Array.from({ length: count }, () => database.sql.executeQuery(CompiledQuery.raw(statement)));
  const failed = (await Promise.allSettled(sent)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** A pool with four connections to a host that has become read-only since, and with a second host. */
async function demotedHost() {
  const setReadOnly = (value: 'on' | 'off') =>
    server.query(`alter database ${nameOf(standby)} set default_transaction_read_only = ${value}`);
  await setReadOnly('off');
  const demoted = await readOnlyNetwork();
  const database = connectedTo([demoted, second]);
  await onEach(database, 4, 'select pg_sleep(0.2)');
  expect(demoted.connections()).toBe(4);
  await setReadOnly('on');
  return { demoted, database };
}

test('leaves a host whose open connections have become read-only', async () => {
  const { demoted, database } = await demotedHost();
  await onEach(database, 4, "select set_config('default_transaction_read_only', 'on', false), pg_sleep(0.2)");
  const plants = plantsIn(database, { batchRows: 1 });
  await Promise.all([1, 2, 3, 4].map((id) => plants.add(plant(id))));
  await onEach(database, 4, 'select pg_sleep(0.2)');
  expect(demoted.connections()).toBe(0);
  expect(await server.query('select id from plants')).toHaveLength(4);
});

test('uses no older connection to a host either once a new one is read-only', async () => {
  const { demoted, database } = await demotedHost();
  // The four older ones could still write.
  await onEach(database, 5, 'select pg_sleep(0.2)');
  await onEach(database, 5, 'select pg_sleep(0.2)');
  expect(demoted.connections()).toBe(0);
});

test('gives up all silent connections to a host once another one serves', async () => {
  const database = connectedTo([first, second], { poolSize: 3, statementTimeout: STATEMENT_TIMEOUT });
  await onEach(database, 3, 'select pg_sleep(0.2)');
  first.swallow();
  const silent = onEach(database, 3, 'select 1');
  const rejected = expect(silent).rejects.toThrow('no response from Postgres');
  const plants = plantsIn(database);
  expect(await plants.add(plant(1))).toEqual(plant(1));
  await rejected;
  await eventually(() => first.connections() === 0);
});

test('comes back to its host after no connection of the pool became free in time', async () => {
  const database = connectedTo([first, await readOnlyNetwork()], { poolSize: 1 });
  await onEach(database, 1, 'select 1');
  const long = onEach(database, 1, `select pg_sleep(${(CONNECT_TIMEOUT + 500) / 1_000})`);
  await expect(plantsIn(database).add(plant(1))).resolves.toEqual(plant(1));
  await long;
  await onEach(database, 1, 'select 1');
  expect(first.connections()).toBe(1);
});
