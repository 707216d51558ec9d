import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../../src/adapters/http/sockets/server.ts';
import { createPlant } from '../../src/application/create-plant.ts';
import type { Permission } from '../../src/application/permissions.ts';
import type { AddPlant, ChangeFeed } from '../../src/application/ports.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { freePort } from '../../tooling/free-port.ts';
import { startApiServer, TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { linesOf } from '../support/plants/plant-lines.ts';
import {
  otherResponses,
  runExample,
  said,
  saidNotPlantStore,
  saidToken,
  saidUsage,
  withResponse,
} from '../support/programs/example-programs.ts';
import {
  type NodeProcess,
  projectFile,
  startNode,
  startProgram,
  startService,
  temporaryFolder,
} from '../support/service-process.ts';
import { connect, migratedDatabase, plantsIn, storedPlants, type TestDatabase } from '../support/test-database.ts';

/* examples/mirror.py, which needs python3. */

const MIRROR = { program: 'python3', file: 'mirror.py' };

/** A page has 1000 changes. */
const SEVERAL_PAGES = 3_500;

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

function start(url: string, file = 'plants.sqlite'): NodeProcess {
  const env = { PATH: process.env.PATH, PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN };
  return startProgram('python3', [projectFile('examples/mirror.py'), file], { cwd: folder, env });
}

async function kill(mirror: NodeProcess): Promise<void> {
  mirror.kill('SIGKILL');
  // Not if it had ended by itself.
  expect([await mirror.exited, mirror.stderr()]).toEqual([{ code: null, signal: 'SIGKILL' }, '']);
}

/** What a query of the copy gives; nothing while there is none, or while it is being repaired after a kill. */
function query(sql: string): Record<string, SQLOutputValue>[] {
  const file = join(folder, 'plants.sqlite');
  if (!existsSync(file)) return [];
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const statement = database.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all();
  } catch (error) {
    if (/no such table|locked/.test(`${error}`)) return [];
    throw error;
  } finally {
    database.close();
  }
}

const copied = () =>
  query('select id, name, tag from plants order by id').map(
    ({ tag, ...plant }) => ({ ...plant, ...(tag !== null && { tag }) }) as NewPlant,
  );

const walk = () => query('select walk from position')[0]?.walk;

/** Waits until the copy has these plants, exactly. */
async function hasCopied(plants: readonly NewPlant[]): Promise<void> {
  const wanted = linesOf(plants.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
  await eventually(() => linesOf(copied()) === wanted, 10_000).catch(() => {});
  // Only some that differ, since they can be many.
  const [here, there] = [wanted, linesOf(copied())].map((lines) => lines.split('\n'));
  const missing = here?.filter((line) => !there?.includes(line)).slice(0, 5);
  const surplus = there?.filter((line) => !here?.includes(line)).slice(0, 5);
  expect({ missing, surplus }).toEqual({ missing: [], surplus: [] });
}

describe('the mirror of a service on Postgres', () => {
  let database: TestDatabase;
  let url: string;
  beforeEach(async () => {
    database = await migratedDatabase();
    ({ apiUrl: url } = await startService(folder, { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN }));
  });
  afterEach(() => database.drop());

  async function withDatabase<Result>(work: (connection: ReturnType<typeof connect>) => Promise<Result>) {
    const connection = connect(database.directUrl);
    try {
      return await work(connection);
    } finally {
      await connection.close();
    }
  }

  const store = (plants: readonly NewPlant[]) =>
    withDatabase((connection) => Promise.all(plants.map(createPlant(plantsIn(connection)))));

  const stored = () => withDatabase(storedPlants);

  const remove = async (id: bigint) => expect(await send(url, 'DELETE', id)).toBe(204);

  async function purge(id: bigint): Promise<void> {
    // A transaction elsewhere on the server, such as autovacuum, can put it off.
    await eventually(async () => {
      const purging = startNode([projectFile('src/purge.ts'), `--id=${id}`, '--yes'], folder, {
        DATABASE_URL: database.directUrl,
      });
      expect(await purging.exited).toEqual({ code: 0, signal: null });
      return purging.stderr().includes('1 deleted plant forgotten');
    });
  }

  test('has exactly the plants of the table, however often it is killed while they change', async () => {
    await store(plantsFrom(0, SEVERAL_PAGES));
    const writers = startWriters(url);
    for (let kills = 0; kills < 14; kills++) {
      const mirror = start(url);
      await delay(100 + Math.random() * 400);
      await kill(mirror);
    }
    const { created, changed, deleted } = await writers.stop();
    expect(Math.min(created, changed, deleted)).toBeGreaterThan(50);

    const mirror = start(url);
    await hasCopied(await stored());
    expect(walk()).toBe(1n);
    // And goes on from there.
    const late = { id: 2n ** 63n - 1n, name: 'late', tag: '' };
    expect(await send(url, 'POST', undefined, late)).toBe(200);
    await hasCopied(await stored());
    await kill(mirror);
  });

  test('begins a new walk if it has missed a deletion that was purged, and drops that plant', async () => {
    await store(plantsFrom(0, SEVERAL_PAGES));
    const first = start(url);
    await hasCopied(await stored());
    await kill(first);

    await remove(7n);
    await purge(7n);
    await remove(8n);
    await store(plantsFrom(SEVERAL_PAGES, 10));

    // Killed again during the new walk, which must not make it forget what it has to drop.
    const second = start(url);
    await eventually(() => walk() === 2n);
    second.kill('SIGKILL');
    await second.exited;
    expect(second.stderr()).toMatch(/^beginning a new walk: "after" is not valid any more, since .*\n$/);

    const third = start(url);
    await hasCopied(await stored());
    expect(copied()).toHaveLength(SEVERAL_PAGES + 8);
    expect(query('select distinct walk from plants')).toEqual([{ walk: 2n }]);
    await kill(third);
  });

  test('waits for a service that is down, says so once, and goes on when it is back', async () => {
    const PORT = `${await freePort()}`;
    const address = `http://127.0.0.1:${PORT}`;
    const environment = { PORT, DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN };
    const mirror = start(address);
    await mirror.until(() => mirror.stderr().includes('\n'));
    const first = await startService(folder, environment);
    await send(address, 'POST', undefined, { id: 1n, name: '\uFEFF' });
    await hasCopied([{ id: 1n, name: '\uFEFF' }]);
    first.kill('SIGTERM');
    await first.exited;
    await startService(folder, environment);
    await send(address, 'POST', undefined, { id: -(2n ** 63n), name: '', tag: '' });
    await hasCopied([
      { id: 1n, name: '\uFEFF' },
      { id: -(2n ** 63n), name: '', tag: '' },
    ]);
    expect(mirror.stderr()).toMatch(new RegExp(`^(no changes from ${address} \\(.+\\): trying again\\n){2}$`));
  });
});

describe('the mirror', () => {
  let plants: ChangeFeed;
  let add: AddPlant['add'];
  let permissions: Permission[];
  let server: HttpServer;
  beforeEach(async () => {
    const real = fakePlants();
    await real.add({ id: 2n, name: 'Pinus' });
    plants = real;
    add = real.add;
    permissions = ['read'];
    server = await startApiServer({
      plants: { readChanges: (query) => plants.readChanges(query) },
      verifyToken: async (token) => (token === TOKEN ? new Set(permissions) : undefined),
    });
  });
  afterEach(() => server.close(0));

  const run = (args: readonly string[], { url = server.url, token = TOKEN } = {}) =>
    runExample(MIRROR, args, { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: token });

  const file = () => join(folder, 'plants.sqlite');

  test('says how to use it when its arguments are wrong', async () => {
    for (const wrong of [[], [''], ['one', 'two'], ['--limit=5', 'one']]) {
      expect([wrong, await run(wrong)]).toEqual([wrong, saidUsage]);
    }
  });

  test('says in one line that there is no token, or one that no header can carry', async () => {
    expect(await runExample(MIRROR, [file()], { PLANT_STORE_URL: server.url })).toEqual(saidToken);
    expect(await run([file()], { token: `${TOKEN}\r\nX-Request-Id: 1` })).toEqual(saidToken);
    expect(existsSync(file())).toBe(false);
  });

  test('says that the token is refused, or does not permit it', async () => {
    expect(await run([file()], { token: 'another-token-than-that' })).toEqual(said(40101, 'get a token'));
    permissions = [];
    expect(await run([file()])).toEqual(said(40300, 'get a token'));
  });

  test('says that the store has no changes to follow', async () => {
    plants = { ...plants, readChanges: () => Promise.reject(new PlantStoreError('changes_unavailable', 'not here')) };
    expect(await run([file()])).toEqual(said(50100, 'copy another store, or this one by export'));
  });

  test('says that its position is not one of the service', async () => {
    plants = { ...plants, readChanges: () => Promise.reject(new PlantStoreError('invalid_plant', 'no cursor')) };
    expect(await run([file()])).toEqual(said(40022, 'start again with another file'));
  });

  test('asks to report a defect of the service', async () => {
    plants = { ...plants, readChanges: () => Promise.reject(new Error('a defect')) };
    expect(await run([file()])).toEqual(said(50000, 'report it'));
  });

  test('says that there is nothing at the address', async () => {
    expect(await run([file()], { url: `${server.url}/v1` })).toEqual(said(40400, 'fix this program'));
    for (const url of ['nowhere', 'http://127.0.0.1:one']) {
      expect(await run([file()], { url })).toEqual(saidNotPlantStore(url));
    }
  });

  test.each(otherResponses.filter(([, status]) => status < 500))(
    'says in one line that %s has responded',
    async (...other) => {
      await withResponse(other, async (url) => expect(await run([file()], { url })).toEqual(saidNotPlantStore(url)));
    },
  );

  test.each(otherResponses.filter(([, status]) => status >= 500))(
    'tries again if %s has responded',
    async (...other) => {
      await withResponse(other, async (url) => {
        const mirror = start(url);
        await mirror.until(() => mirror.stderr() !== '');
        expect(mirror.stderr()).toBe(`no changes from ${url} (status 502): trying again\n`);
      });
    },
  );

  test('tries again if the store was unavailable for a moment', async () => {
    const real = plants;
    plants = {
      ...real,
      async readChanges() {
        plants = real;
        throw new PlantStoreError('store_unavailable', 'not now');
      },
    };
    const mirror = start(server.url);
    await hasCopied([{ id: 2n, name: 'Pinus' }]);
    expect(mirror.stderr()).toBe(`no changes from ${server.url} (status 503): trying again\n`);
  });

  test('completes a new walk although no response is empty, and drops what it has not brought', async () => {
    const page = (...ids: bigint[]) => ({
      lines: linesOf(ids.map((id) => ({ id, name: 'Pinus' }))),
      next: `${ids.at(-1)}`,
      atEnd: true,
    });
    const pages = [() => page(1n, 2n), () => expire(), () => page(1n)];
    const expire = () => {
      throw new PlantStoreError('cursor_expired', 'start again');
    };
    plants = { readChanges: async () => pages.shift()?.() ?? new Promise(() => {}) };
    start(server.url);
    await hasCopied([{ id: 1n, name: 'Pinus' }]);
    expect(walk()).toBe(2n);
  });

  test('says in one line that it cannot use the file', async () => {
    const cannot = (path: string) => ({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(`^cannot use ${path} \\(.+\\): .*\n$`),
    });
    const text = join(folder, 'text');
    await writeFile(text, 'no database\n'.repeat(100));
    const other = join(folder, 'other');
    const database = new DatabaseSync(other);
    database.exec('create table plants (id integer)');
    database.close();
    for (const path of [folder, join(folder, 'nowhere/plants.sqlite'), text, other]) {
      expect(await run([path])).toEqual(cannot(path));
    }
  });

  test('ends if another one writes to the same file', async () => {
    const both = [start(server.url), start(server.url)];
    let ended: NodeProcess | undefined;
    for (const mirror of both) mirror.exited.then(() => (ended = mirror));
    for (let id = 3n; ended === undefined; id++) {
      await add({ id, name: 'new for both' });
      await delay(50);
    }
    expect([await ended.exited, ended.stderr()]).toEqual([
      { code: 1, signal: null },
      'another mirror writes to the same file\n',
    ]);
  });

  test('ends at Ctrl-C without a word', async () => {
    const mirror = start(server.url);
    await hasCopied([{ id: 2n, name: 'Pinus' }]);
    mirror.kill('SIGINT');
    expect([await mirror.exited, mirror.stdout(), mirror.stderr()]).toEqual([{ code: null, signal: 'SIGINT' }, '', '']);
  });
});

/** Resolves to the status. */
async function send(url: string, method: string, id?: bigint, plant?: Partial<NewPlant>): Promise<number> {
  const { id: own, ...others } = plant ?? {};
  const fields = JSON.stringify(others).slice(1);
  const body = plant && (own === undefined ? `{${fields}` : `{"id":${own}${fields === '}' ? '' : ','}${fields}`);
  const response = await fetch(`${url}/plants${id === undefined ? '' : `/${id}`}`, {
    method,
    // A connection that is kept would make the service wait when it stops.
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', Connection: 'close' },
    ...(body && { body }),
  });
  await response.arrayBuffer();
  return response.status;
}

const plantsFrom = (first: number, count: number): NewPlant[] =>
  Array.from({ length: count }, (_, n) => ({ id: BigInt(first + n), name: `plant ${first + n}` }));

/** Starts clients that create, change and delete plants as fast as they can. */
function startWriters(url: string) {
  const counts = { created: 0, changed: 0, deleted: 0 };
  const ids = plantsFrom(0, SEVERAL_PAGES).map(({ id }) => id);
  const pick = <T>(all: readonly T[]) => all[Math.floor(Math.random() * all.length)] as T;
  const text = () => pick(['', '\uFEFF', 'é', 'e\u0301', '\u{1F339}', '"', '\\', '\r\n', ' x ']) + Math.random();
  let isStopping = false;

  async function write(): Promise<void> {
    const plant = { name: text(), ...(Math.random() < 0.5 && { tag: text() }) };
    const what = Math.random();
    if (what < 0.5) {
      const id = BigInt.asIntN(64, BigInt(Math.floor(Math.random() * 2 ** 53)) * 2_999n);
      counts.created += (await send(url, 'POST', undefined, { id, ...plant })) === 200 ? 1 : 0;
      ids.push(id);
    } else if (what < 0.8) {
      counts.changed += (await send(url, 'PUT', pick(ids), plant)) === 200 ? 1 : 0;
    } else {
      counts.deleted += (await send(url, 'DELETE', pick(ids))) === 204 ? 1 : 0;
    }
  }

  async function client(): Promise<void> {
    while (!isStopping) await write();
  }

  const clients = Promise.all(Array.from({ length: 6 }, client));
  // Reported by stop.
  clients.catch(() => {});
  return {
    async stop() {
      isStopping = true;
      await clients;
      return counts;
    },
  };
}
