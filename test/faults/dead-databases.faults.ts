import { rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { openTransaction } from '../support/disturbances.ts';
import { eventually } from '../support/eventually.ts';
import {
  all,
  backends,
  create,
  databaseCheck,
  forgetPlants,
  management,
  network,
  postgres,
  query,
  recovers,
  restartPostgres,
  stops,
  terminateBackends,
} from '../support/faults/troubled-service.ts';
import { freeze } from '../support/servers/local-process.ts';
import { shutDown } from '../support/servers/own-postgres.ts';

/* What can happen to a whole database or the way to it. Nothing of the service is restarted. */

/** Each begins an outage and resolves to what ends it. */
const outages: Record<string, () => Promise<() => Promise<unknown>>> = {
  async 'a server that refuses connections'() {
    await shutDown(postgres);
    return restartPostgres;
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
  async 'a primary that became read-only'() {
    const before = await backends();
    await setReadOnly('on');
    return async () => {
      // It is not asked again: the address may lead to another server by now.
      const after = await backends();
      expect(after.filter((pid) => before.includes(pid))).toEqual([]);
      await setReadOnly('off');
    };
  },
  async 'a standby in recovery'() {
    await shutDown(postgres);
    await writeFile(join(postgres.dataFolder, 'standby.signal'), '');
    await restartPostgres();
    return () => query('select pg_promote()');
  },
  async 'a full disk'() {
    // The kernel refuses to extend this file with ENOSPC, whoever writes it. Who has the old one open still writes that.
    await forgetPlants();
    const [path] = await query("select pg_relation_filepath('plants') as file");
    const file = join(postgres.dataFolder, String(path?.file));
    await rename(file, `${file}.mended`);
    await symlink('/dev/full', file);
    await terminateBackends();
    return async () => {
      await rm(file);
      await rename(`${file}.mended`, file);
      await terminateBackends();
    };
  },
  async 'a locked table'() {
    const other = await openTransaction(postgres.url, 'lock table plants in access exclusive mode');
    return () => other.end();
  },
};

async function setReadOnly(value: 'on' | 'off'): Promise<void> {
  await query(`alter system set default_transaction_read_only = ${value}`);
  await query('select pg_reload_conf()');
}

describe('answers 503 in time, and recovers without a restart', () => {
  test.each(Object.entries(outages))('from %s', async (name, begin) => {
    const end = await begin();
    try {
      expect(await create(8)).toEqual(all(8, 503));
      // Only an insert that needs room can tell that there is none.
      const isFull = name === 'a full disk';
      await eventually(async () => (await management('/ready')) === (isFull ? 200 : 503));
      if (isFull) expect(await databaseCheck()).toMatch(/^ok, but the disk of the database is full/);
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
