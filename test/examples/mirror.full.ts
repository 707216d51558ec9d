import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Database } from '../../src/adapters/postgres/connections/pool.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { freePort } from '../../tooling/free-port.ts';
import { type ApiClient, apiClient } from '../support/api-client.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { startRandomRequests } from '../support/faults/random-requests.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { differences } from '../support/plants/changes.ts';
import { copiedPlants, python, queryCopy, startClient } from '../support/programs/example-programs.ts';
import { type NodeProcess, runCommand, startService, temporaryFolder } from '../support/service-process.ts';
import { connect, migratedDatabase, plantsIn, storedPlants } from '../support/test-database.ts';

/* `plants.py follow`, the mirror in examples. clients.full.ts has what it does as the other commands do. */

/** A page has 1000 changes. */
const SEVERAL_PAGES = 3_500;

const TEXTS = ['', '\uFEFF', 'é', 'e\u0301', '\u{1F339}', '"', '\\', '\r\n', ' x '];

const plantsFrom = (first: number, count: number): NewPlant[] =>
  Array.from({ length: count }, (_, n) => ({ id: BigInt(first + n), name: `${TEXTS[n % TEXTS.length]}${n}` }));

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

const start = (url: string) => startClient(python, ['follow', 'plants.sqlite'], url, { cwd: folder });

async function kill(mirror: NodeProcess): Promise<void> {
  mirror.kill('SIGKILL');
  // Not if it had ended by itself.
  expect([await mirror.exited, mirror.stderr()]).toEqual([{ code: null, signal: 'SIGKILL' }, '']);
}

const file = () => join(folder, 'plants.sqlite');

const walk = () => queryCopy(file(), 'select walk from position')[0]?.walk;

/** Waits until the copy has these plants, exactly. */
async function hasCopied(plants: readonly NewPlant[]): Promise<void> {
  const wrong = () => differences(plants, copiedPlants(file()));
  await eventually(() => wrong().length === 0).catch(() => {});
  expect(wrong()).toEqual([]);
}

describe('the mirror of a service on Postgres', () => {
  const database = forEachTest(migratedDatabase);
  let connection: Database;
  let url: string;
  let client: ApiClient;
  beforeEach(async () => {
    connection = connect(database.directUrl);
    ({ apiUrl: url } = await startService(folder, { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN }));
    client = apiClient(url);
  });

  const store = (plants: readonly NewPlant[]) => Promise.all(plants.map(plantsIn(connection).add));

  const stored = () => storedPlants(connection);

  async function purge(id: bigint): Promise<void> {
    await database.query(`update plants set deleted = deleted - interval '1 hour' where id = ${id}`);
    // A transaction elsewhere on the server, such as autovacuum, can put it off.
    await eventually(async () => {
      const { stderr } = await runCommand('purge', [`--id=${id}`, '--yes'], { DATABASE_URL: database.directUrl });
      return stderr.includes('1 deleted plant forgotten');
    });
  }

  test('has exactly the plants of the table, however often it is killed', async () => {
    // Beside the ids that the requests use.
    await store(plantsFrom(1_000_000, SEVERAL_PAGES));
    const { counts, stop } = startRandomRequests([client]);
    for (let kills = 0; kills < 14; kills++) {
      const mirror = start(url);
      await delay(100 + Math.random() * 400);
      await kill(mirror);
    }
    await stop();
    for (const success of ['POST 200', 'PUT 200', 'DELETE 204']) expect(counts.get(success)).toBeGreaterThan(0);

    const mirror = start(url);
    await hasCopied(await stored());
    expect(walk()).toBe(1n);
    // And goes on from there.
    await store([{ id: 2n ** 63n - 1n, name: 'late', tag: '' }]);
    await hasCopied(await stored());
    await kill(mirror);
  });

  test('begins a new walk if it has missed a deletion that was purged', async () => {
    await store(plantsFrom(0, SEVERAL_PAGES));
    const first = start(url);
    await hasCopied(await stored());
    await kill(first);

    expect((await client.send('DELETE', '/plants/7')).status).toBe(204);
    await purge(7n);
    expect((await client.send('DELETE', '/plants/8')).status).toBe(204);
    await store(plantsFrom(SEVERAL_PAGES, 10));

    // Killed again during the new walk, which must not make it forget what it has to drop.
    const second = start(url);
    await eventually(() => walk() === 2n);
    second.kill('SIGKILL');
    await second.exited;
    expect(second.stderr()).toMatch(/^beginning a new walk: "after" is not valid any more, since .*\n$/);

    const third = start(url);
    await hasCopied(await stored());
    expect(copiedPlants(file())).toHaveLength(SEVERAL_PAGES + 8);
    expect(queryCopy(file(), 'select distinct walk from plants')).toEqual([{ walk: 2n }]);
    await kill(third);
  });

  test('waits for a service that is down, says so once, and goes on when it is back', async () => {
    const PORT = `${await freePort()}`;
    const address = `http://127.0.0.1:${PORT}`;
    const mirror = start(address);
    await mirror.until(() => mirror.stderr().includes('\n'));
    await store([{ id: -(2n ** 63n), name: '', tag: '' }]);
    await startService(folder, { PORT, DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN });
    await hasCopied(await stored());
    expect(mirror.stderr()).toMatch(new RegExp(`^no changes from ${address} \\(.+\\): trying again\\n$`));
  });
});
