import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { execute } from '../../../tooling/execute.ts';
import { type PostgresServer, startPostgresServer } from '../../../tooling/postgres-server.ts';
import { openTransaction } from '../disturbances.ts';
import { eventually } from '../eventually.ts';
import { type Answer, faultless, judge, send } from '../load-clients.ts';
import { startTcpProxy, type TcpProxy } from '../servers/tcp-proxy.ts';
import { readiness, type Service, startWith } from '../service-process.ts';
import { applyMigrations, storedPlantsAt } from '../test-database.ts';

/* The service as a process, on a Postgres of its own behind a network of its own, for tests that spoil one of them. */

const POOL_SIZE = 4;
/** Of two lists at once; the others are for reads. */
const CREATE_CONNECTIONS = 2;
const MAX_CONNECTIONS = 12;
const STORE_TIMEOUT = 4_000;
const SHUTDOWN_TIMEOUT = 20_000;
/** Milliseconds that a busy machine may add to a deadline: more than it does, less than anything that hangs. */
const SLACK = 4_000;
/** A little shorter than the defaults, in the same order. */
const deadlines = {
  STATEMENT_TIMEOUT: '800ms',
  STORE_TIMEOUT: `${STORE_TIMEOUT}ms`,
};

export let postgres: PostgresServer;
export let network: TcpProxy;
let service: Service;

/** What is not settled yet was answered 503. */
let answers: Answer[];
let plants = 0;

beforeAll(async () => {
  postgres = await startPostgresServer(['fsync=off', `max_connections=${MAX_CONNECTIONS}`]);
});
afterAll(() => postgres.stop());

beforeEach(async () => {
  await applyMigrations(postgres.url);
  await forgetPlants();

  network = await startTcpProxy(postgres.url);
  service = await startWith({
    DATABASE_URL: network.url,
    POOL_SIZE: `${POOL_SIZE}`,
    SHUTDOWN_TIMEOUT: `${SHUTDOWN_TIMEOUT}ms`,
    ...deadlines,
  });
  // While the table is locked, a second list of creates begins beside the first one, which is slow.
  const lock = await openTransaction(postgres.url, 'lock table plants');
  const creating = create(8);
  await eventually(() => network.connections() >= CREATE_CONNECTIONS);
  await lock.query('rollback');
  expect(await creating).toEqual(all(8, 200));
});
afterEach(() => network.close());

/** Ends what works for the service, and waits for that. */
export const terminateBackends = () =>
  query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'plant-store'");

/** Runs a statement past the network. */
export const query = (text: string) => execute(postgres.url, text);

/** The server's processes that work for the service. */
export async function backends(): Promise<number[]> {
  const rows = await query("select pid from pg_stat_activity where application_name = 'plant-store'");
  return rows.map(({ pid }) => Number(pid));
}

/** Empties the table. */
export async function forgetPlants(): Promise<void> {
  await query('truncate plants');
  answers = [];
}

export async function restartPostgres(): Promise<void> {
  postgres = await postgres.restart();
}

/** Sends new plants, all at once, and expects each answer by its deadline. @returns the statuses */
export function create(count: number): Promise<number[]> {
  return sendAll(Array.from({ length: count }, () => ({ id: BigInt(++plants), name: `plant ${plants}` })));
}

async function sendAll(sent: readonly NewPlant[]): Promise<number[]> {
  const got = await Promise.all(sent.map((plant) => inTime(STORE_TIMEOUT, send(service.apiUrl, plant))));
  answers.push(...got);
  return got.map(({ status }) => status);
}

/** What the promise resolves to, which must not take much longer than these milliseconds. */
async function inTime<T>(limit: number, promise: Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await promise;
  expect(performance.now() - start).toBeLessThan(limit + SLACK);
  return result;
}

/** Stops the service, by its deadline and without a fault. */
export async function stops(): Promise<void> {
  service.kill('SIGTERM');
  expect(await inTime(SHUTDOWN_TIMEOUT, service.exited)).toEqual({ code: 0, signal: null });
}

export const all = (count: number, status: number) => Array.from({ length: count }, () => status);

export async function management(path: '/live' | '/ready'): Promise<number> {
  return (await fetch(`${service.managementUrl}${path}`, { headers: { Connection: 'close' } })).status;
}

/** What /ready says of the database. */
export const databaseCheck = async () => (await readiness(service)).checks.database;

/**
 * Shows that all is over: the service is ready, what it refused is settled by sending it again, the table bears out
 * every answer, and no connection is left.
 */
export async function recovers(): Promise<void> {
  await eventually(async () => (await create(1))[0] === 200);
  await eventually(async () => (await management('/ready')) === 200);
  const refused = answers.filter(({ status }) => status !== 200);
  for (const { status, retryAfter, body } of refused) {
    expect([status, retryAfter, body]).toEqual([503, '1', expect.stringContaining('50300')]);
  }
  answers = answers.filter(({ status }) => status === 200);
  expect(await sendAll(refused.map(({ plant }) => plant))).toEqual(all(refused.length, 200));
  const rows = await storedPlantsAt(postgres.url);
  expect(judge(answers, rows)).toEqual(faultless);

  // A connection that the pool has forgotten would not be closed when idle.
  await eventually(() => network.connections() === 0);
  await eventually(async () => (await backends()).length === 0);
  await stops();
}
