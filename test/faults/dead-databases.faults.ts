import { Agent } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Client } from 'pg';
import { plantJson } from '../../src/formats/plant-json.ts';
import { execute } from '../../tooling/execute.ts';
import { type PostgresServer, startPostgresServer } from '../../tooling/postgres-server.ts';
import { exchange } from '../support/api-client.ts';
import { openTransaction } from '../support/disturbances.ts';
import { eventually } from '../support/eventually.ts';
import { differences } from '../support/plants/changes.ts';
import { freeze } from '../support/servers/local-process.ts';
import { shutDown } from '../support/servers/own-postgres.ts';
import { startTcpProxy, type TcpProxy } from '../support/servers/tcp-proxy.ts';
import { type Service, startWith } from '../support/service-process.ts';
import { applyMigrations, storedPlantsAt } from '../support/test-database.ts';

/*
 * What can happen to a whole database or the way to it: a Postgres of its own behind a network of its own. Nothing of the
 * service is restarted.
 */

jest.setTimeout(300_000);

const POOL_SIZE = 4;
/** Of two lists at once; the others are for reads. */
const CREATE_CONNECTIONS = 2;
const MAX_CONNECTIONS = 12;
const STORE_TIMEOUT = 4_000;
const SHUTDOWN_TIMEOUT = 20_000;
/** Milliseconds that a busy machine may add to a deadline: more than it does, less than anything that hangs. */
const SLACK = 4_000;

let postgres: PostgresServer;
let network: TcpProxy;
let service: Service;
/** Of plants that got 503. */
let refused: bigint[];
let lastId = 0n;

beforeAll(async () => {
  postgres = await startPostgresServer(['fsync=off', `max_connections=${MAX_CONNECTIONS}`]);
});
afterAll(() => postgres.stop());

beforeEach(async () => {
  await applyMigrations(postgres.url);
  await query('truncate plants');
  [refused, lastId] = [[], 0n];
  network = await startTcpProxy(postgres.url);
  // A little shorter than the defaults, in the same order.
  service = await startWith({
    DATABASE_URL: network.url,
    POOL_SIZE: `${POOL_SIZE}`,
    SHUTDOWN_TIMEOUT: `${SHUTDOWN_TIMEOUT}ms`,
    STATEMENT_TIMEOUT: '800ms',
    STORE_TIMEOUT: `${STORE_TIMEOUT}ms`,
  });
  // While the table is locked, a second list of creates begins beside the first one, which is slow.
  const lock = await openTransaction(postgres.url, 'lock table plants');
  const creating = create(8);
  await eventually(() => network.connections() >= CREATE_CONNECTIONS);
  await lock.query('rollback');
  expect(await creating).toEqual(all(8, 200));
});
afterEach(() => network.close());

/** Runs a statement past the network. */
const query = (text: string) => execute(postgres.url, text);

/** The server's processes that work for the service. */
async function backends(): Promise<number[]> {
  const rows = await query("select pid from pg_stat_activity where application_name = 'plant-store'");
  return rows.map(({ pid }) => Number(pid));
}

/** Sends new plants, all at once, and expects each response by its deadline. @returns the statuses */
const create = (count: number) => sendAll(Array.from({ length: count }, () => ++lastId));

const sendAll = (ids: readonly bigint[]) => Promise.all(ids.map((id) => inTime(STORE_TIMEOUT, send(id))));

async function send(id: bigint): Promise<number> {
  const request = { method: 'POST', agent: new Agent() };
  const { status, headers, body } = await exchange(`${service.apiUrl}/plants`, request, plantJson(plantOf(id)));
  if (status === 200) return status;
  refused.push(id);
  expect([status, headers['retry-after'], body]).toEqual([503, '1', expect.stringContaining('50300')]);
  return status;
}

const plantOf = (id: bigint) => ({ id, name: `plant ${id}` });

/** What the promise resolves to, which must not take much longer than these milliseconds. */
async function inTime<T>(limit: number, promise: Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await promise;
  expect(performance.now() - start).toBeLessThan(limit + SLACK);
  return result;
}

/** Stops the service, by its deadline and without a fault. */
async function stops(): Promise<void> {
  service.kill('SIGTERM');
  expect(await inTime(SHUTDOWN_TIMEOUT, service.exited)).toEqual({ code: 0, signal: null });
}

const all = (count: number, status: number) => Array.from({ length: count }, () => status);

const management = async (path: '/live' | '/ready') =>
  (await fetch(`${service.managementUrl}${path}`, { headers: { Connection: 'close' } })).status;

/**
 * Shows that all is over: the service is ready, what it refused is settled by sending it again, the table has all, and no
 * connection is left.
 */
async function recovers(): Promise<void> {
  await eventually(async () => (await create(1))[0] === 200);
  await eventually(async () => (await management('/ready')) === 200);
  expect(await sendAll(refused)).toEqual(all(refused.length, 200));
  const sent = Array.from({ length: Number(lastId) }, (_, n) => plantOf(BigInt(n + 1)));
  expect(differences(sent, await storedPlantsAt(postgres.url))).toEqual([]);

  // A connection that the pool has forgotten would not be closed when idle. Abandoned statements count for a minute.
  await eventually(() => network.connections() === 0, 120_000);
  await eventually(async () => (await backends()).length === 0);
  await stops();
}

/** Each begins an outage and resolves to what ends it. */
const outages: Record<string, () => Promise<() => Promise<unknown>>> = {
  async 'a server that refuses connections'() {
    await shutDown(postgres);
    return async () => {
      postgres = await postgres.restart();
    };
  },
  async 'a network that swallows packets'() {
    network.swallow();
    return async () => network.pass();
  },
  async 'a frozen server'() {
    const goOn = freeze([Number(postgres.process.pid), ...(await backends())]);
    return async () => goOn();
  },
  async 'too many connections'() {
    await eventually(() => network.connections() === 0);
    const others: Client[] = [];
    const takeOne = async () => {
      const client = new Client({ connectionString: postgres.url });
      await client.connect();
      others.push(client);
    };
    await expect(eventually(() => takeOne().then(() => false))).rejects.toMatchObject({ code: '53300' });
    return () => Promise.all(others.map((client) => client.end()));
  },
  async 'a locked table'() {
    const other = await openTransaction(postgres.url, 'lock table plants in access exclusive mode');
    return () => other.end();
  },
};

describe('answers 503 in time, and recovers without a restart', () => {
  test.each(Object.entries(outages))('from %s', async (_name, begin) => {
    const end = await begin();
    try {
      expect(await create(8)).toEqual(all(8, 503));
      await eventually(async () => (await management('/ready')) === 503);
      expect(await management('/live')).toBe(200);
    } finally {
      await end();
    }
    await recovers();
  });
});

test('stops within SHUTDOWN_TIMEOUT though the database is silent', async () => {
  network.swallow();
  const sending = create(8).catch(() => {});
  await eventually(() => network.swallowed() > 0);
  await stops();
  await sending;
});
