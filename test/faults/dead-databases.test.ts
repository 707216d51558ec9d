import { once } from 'node:events';
import { rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { migrateUp } from '../../src/adapters/postgres/migrator.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, faultless, judge, send } from '../support/load-clients.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { type Service, startService, temporaryFolder } from '../support/service-process.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { connect, execute, storedPlants } from '../support/test-database.ts';

/* What a database or a network can do to the service without killing anything of it. */

const POOL_SIZE = 4;
const MAX_CONNECTIONS = 12;
/** Shorter than the defaults, so that a test takes seconds; in the same order. */
const deadlines = { CONNECT_TIMEOUT: '800ms', STATEMENT_TIMEOUT: '400ms', STORE_TIMEOUT: '2s', IDLE_TIMEOUT: '1s' };

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgresServer(['fsync=off', `max_connections=${MAX_CONNECTIONS}`]);
  const database = connect(postgres.url);
  await migrateUp(database);
  await database.close();
});
afterAll(() => postgres.stop());

const query = (text: string) => execute(postgres.url, text);
const serviceBackends = () => query("select pid from pg_stat_activity where application_name = 'plant-store'");

let network: TcpProxy;
let service: Service;
let answers: Answer[];
beforeEach(async () => {
  network = await startTcpProxy(postgres.url);
  service = await startService(await temporaryFolder(), {
    DATABASE_URL: network.url,
    ACCESS_TOKENS: TOKEN,
    POOL_SIZE: `${POOL_SIZE}`,
    // So that eight requests at once use the whole pool.
    BATCH_ROWS: '2',
    SHUTDOWN_TIMEOUT: '20s',
    ...deadlines,
  });
  answers = [];
  expect(await create(8)).toEqual(all(8, 200));
  expect(network.connections()).toBe(POOL_SIZE);
});
afterEach(async () => {
  await network.close();
  await query('truncate plants');
});

let plants = 0;

/** Sends new plants, all at once. @returns the statuses */
async function create(count: number): Promise<number[]> {
  const sent = Array.from({ length: count }, (): NewPlant => ({ id: BigInt(++plants), name: `plant ${plants}` }));
  return sendAll(sent);
}

async function sendAll(sent: readonly NewPlant[]): Promise<number[]> {
  const got = await Promise.all(sent.map((plant) => send(service.apiUrl, plant)));
  answers.push(...got);
  return got.map(({ status }) => status);
}

const all = (count: number, status: number) => Array.from({ length: count }, () => status);

/** The outage is over: what was refused is settled by sending it again, and what the service used it gives back. */
async function recovers(): Promise<void> {
  await eventually(async () => (await create(1))[0] === 200);
  for (const { status, retryAfter, body } of answers.filter(({ status }) => status !== 200)) {
    expect({ status, retryAfter, body }).toEqual({
      status: 503,
      retryAfter: '1',
      body: expect.stringContaining('50300'),
    });
  }
  const refused = answers.filter(({ status }) => status !== 200).map(({ plant }) => plant);
  answers = answers.filter(({ status }) => status === 200);
  expect(await sendAll(refused)).toEqual(all(refused.length, 200));
  const database = connect(postgres.url);
  const rows = await storedPlants(database);
  await database.close();
  expect(judge(answers, rows)).toEqual(faultless);

  // Nothing leaks: the idle deadline closes every connection there is, and the service stops in order.
  await eventually(() => network.connections() === 0);
  await eventually(async () => (await serviceBackends()).length === 0);
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
}

/** Each begins an outage and resolves to what ends it. */
const outages: Record<string, () => Promise<() => Promise<unknown>>> = {
  async 'a server that refuses connections'() {
    await stopPostgres();
    return restartPostgres;
  },
  async 'a network that swallows packets'() {
    network.swallow();
    return async () => network.pass();
  },
  async 'a frozen server'() {
    const frozen = [Number(postgres.process.pid), ...(await serviceBackends()).map(({ pid }) => Number(pid))];
    for (const pid of frozen) process.kill(pid, 'SIGSTOP');
    return async () => {
      for (const pid of frozen) process.kill(pid, 'SIGCONT');
    };
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
  async 'a primary that became read-only'() {
    const before = await serviceBackends();
    await setReadOnly('on');
    return async () => {
      // It is not asked again: the address may lead to another server by now.
      const after = await serviceBackends();
      expect(after.filter(({ pid }) => before.some((backend) => backend.pid === pid))).toEqual([]);
      await setReadOnly('off');
    };
  },
  async 'a standby in recovery'() {
    await stopPostgres();
    await writeFile(join(postgres.dataFolder, 'standby.signal'), '');
    await restartPostgres();
    return () => query('select pg_promote()');
  },
  async 'a full disk'() {
    // The kernel refuses to extend this file with ENOSPC, whoever writes it. Who has the old one open still writes that.
    await query('truncate plants');
    answers = [];
    const [path] = await query("select pg_relation_filepath('plants') as file");
    const file = join(postgres.dataFolder, String(path?.file));
    await rename(file, `${file}.mended`);
    await symlink('/dev/full', file);
    await terminateServiceBackends();
    return async () => {
      await rm(file);
      await rename(`${file}.mended`, file);
      await terminateServiceBackends();
    };
  },
  async 'a locked table'() {
    const other = new Client({ connectionString: postgres.url });
    await other.connect();
    await other.query('begin; lock table plants in access exclusive mode');
    return () => other.end();
  },
};

async function stopPostgres(): Promise<void> {
  const exited = once(postgres.process, 'exit');
  postgres.process.kill('SIGINT');
  await exited;
}

async function restartPostgres(): Promise<void> {
  postgres = await postgres.restart();
}

async function setReadOnly(value: 'on' | 'off'): Promise<void> {
  await query(`alter system set default_transaction_read_only = ${value}`);
  await query('select pg_reload_conf()');
}

function terminateServiceBackends() {
  return query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'plant-store'");
}

describe('answers 503 in time, and recovers without a restart', () => {
  test.each(Object.entries(outages))('from %s', async (_name, begin) => {
    const end = await begin();
    expect(await create(8)).toEqual(all(8, 503));
    await end();
    await recovers();
  });
});

describe('answers 200 in time, since a fresh connection settles it', () => {
  test.each<[string, () => unknown]>([
    ['a connection that is cut in the middle of a statement', () => network.cutNext('insert into', 'half')],
    ['a connection that is cut when the statement is committed', () => network.cutNext('insert into', 'answer')],
    ['connections that are all reset', () => network.cut()],
    ['connections that are all dead without a word', () => [network.swallow(), network.pass()]],
    ['pg_terminate_backend', terminateServiceBackends],
  ])('after %s', async (_name, strike) => {
    await strike();
    expect(await create(1)).toEqual([200]);
    expect(await create(8)).toEqual(all(8, 200));
    await recovers();
  });

  test('beside statements that never return', async () => {
    const frozen = (await serviceBackends()).map(({ pid }) => Number(pid));
    for (const pid of frozen) process.kill(pid, 'SIGSTOP');
    try {
      expect(await create(1)).toEqual([200]);
      expect(await create(8)).toEqual(all(8, 200));
    } finally {
      for (const pid of frozen) process.kill(pid, 'SIGCONT');
    }
    await recovers();
  });
});

test('lets a locked row delay nobody but those who want it', async () => {
  const other = new Client({ connectionString: postgres.url });
  await other.connect();
  const id = BigInt(plants + 1);
  await other.query(`begin; insert into plants values (${id}, 'not committed yet')`);
  expect(await create(8)).toEqual([503, ...all(7, 200)]);
  await other.end();
  await recovers();
});

test('stops within SHUTDOWN_TIMEOUT though the database is silent', async () => {
  network.swallow();
  const sending = create(8);
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
  await sending.catch(() => {});
});
