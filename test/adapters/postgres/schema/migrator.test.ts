import { describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { pino } from 'pino';
import type { Database } from '../../../../src/adapters/postgres/database.ts';
import { embeddedDatabase } from '../../../../src/adapters/postgres/embedded/embedded-database.ts';
import { lockFolder } from '../../../../src/adapters/postgres/embedded/folder-lock.ts';
import { migrateDown, migrateUp, migrationStatus } from '../../../../src/adapters/postgres/schema/migrator.ts';
import { migrationGate, requireMigrations } from '../../../../src/adapters/postgres/schema/schema-gate.ts';
import { PlantStoreError } from '../../../../src/domain/errors.ts';
import { putEmbeddedDatabase } from '../../../support/embedded-template.ts';
import { eventually } from '../../../support/eventually.ts';
import { startTcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { projectFile, startNode, temporaryFolder } from '../../../support/service-process.ts';
import {
  connect,
  emptyDatabase,
  migratedDatabase,
  plantsIn,
  storedPlants,
  type TestDatabase,
} from '../../../support/test-database.ts';

const FIRST = '0001_create_plants';
const SECOND = '0002_index_tags';
const THIRD = '0003_track_changes';
const FOURTH = '0004_record_changes';
const FIFTH = '0005_webhooks';
const ALL = [FIRST, SECOND, THIRD, FOURTH, FIFTH];
const APPLIED = ALL.map((name) => `${name}: applied\n`).join('');
const PENDING = `migrations are pending (${ALL.join(', ')}): run npm run migrate`;

/** An open database, with what has to be undone when the test is over. */
async function opened(database: Database, undo: () => Promise<unknown> = async () => {}) {
  return Object.assign(database, {
    async [Symbol.asyncDispose]() {
      await database.close();
      await undo();
    },
  });
}

async function onPostgres() {
  const { url, drop } = await emptyDatabase();
  return opened(connect(url), drop);
}

async function onEmbedded() {
  const folder = await temporaryFolder();
  await putEmbeddedDatabase(folder);
  return opened(await embeddedDatabase(folder));
}

/** A database on the server, dropped when the test is over. */
async function disposable(database: Promise<TestDatabase>) {
  const { url, directUrl, query, drop } = await database;
  return { url, directUrl, query, [Symbol.asyncDispose]: drop };
}

/** Runs `node src/migrate.ts` to its end. */
async function migrate(environment: Record<string, string>, ...args: string[]) {
  const process = startNode([projectFile('src/migrate.ts'), ...args], await temporaryFolder(), environment);
  const { code } = await process.exited;
  return { code, stdout: process.stdout(), stderr: process.stderr() };
}

describe.each([
  ['Postgres', onPostgres],
  ['the embedded database', onEmbedded],
])('on %s', (_name, open) => {
  test('goes up, down and up again', async () => {
    await using database = await open();
    const plant = { id: 1n, name: 'Monstera deliciosa', tag: null };
    const add = () => database.sql.insertInto('plants').values(plant).execute();

    expect(await migrationStatus(database)).toEqual({ applied: [], pending: ALL, unknown: [] });
    await expect(requireMigrations(database)).rejects.toThrow(PENDING);

    expect(await migrateUp(database)).toEqual(ALL);
    expect(await requireMigrations(database)).toEqual({ applied: ALL, pending: [], unknown: [] });
    await add();
    expect(await migrateUp(database)).toEqual([]);

    for (const name of [FIFTH, FOURTH, THIRD, SECOND]) {
      expect(await migrateDown(database, { deletePlants: true })).toEqual([name]);
    }
    expect(await storedPlants(database)).toHaveLength(1);
    expect(await migrateDown(database, { deletePlants: true })).toEqual([FIRST]);
    await expect(add()).rejects.toThrow('"plants" does not exist');
    expect(await migrateDown(database, { deletePlants: true })).toEqual([]);

    expect(await migrateUp(database)).toEqual(ALL);
    await add();
  });

  test('goes down without a word if there are no plants, and deletes plants only if it may', async () => {
    await using database = await open();
    const keep = { deletePlants: false };
    expect(await migrateDown(database, keep)).toEqual([]);
    await migrateUp(database);
    for (const name of ALL.toReversed()) expect(await migrateDown(database, keep)).toEqual([name]);

    await migrateUp(database);
    const plants = plantsIn(database);
    await plants.add({ id: 1n, name: 'Monstera deliciosa' });
    // These delete none.
    for (const name of [FIFTH, FOURTH, THIRD, SECOND]) expect(await migrateDown(database, keep)).toEqual([name]);
    const refusal = (plants: string) =>
      `reverting ${FIRST} would delete ${plants}, so nothing was changed: to delete, add --delete-plants`;
    await expect(migrateDown(database, keep)).rejects.toThrow(refusal('1 plant'));
    await plants.add({ id: 2n, name: 'Ficus carica' });
    await expect(migrateDown(database, keep)).rejects.toThrow(refusal('2 plants'));
    expect(await migrationStatus(database)).toMatchObject({ applied: [FIRST] });
    expect(await storedPlants(database)).toHaveLength(2);
  }, 60_000);
});

test('no plant is deleted that is created while migrations go down', async () => {
  await using server = await disposable(migratedDatabase());
  await using database = await opened(connect(server.url));
  for (const name of [FIFTH, FOURTH, THIRD, SECOND])
    expect(await migrateDown(database, { deletePlants: false })).toEqual([name]);
  const other = new Client({ connectionString: server.directUrl });
  await other.connect();
  try {
    await other.query("begin; insert into plants values (1, 'not committed yet')");
    const down = expect(migrateDown(database, { deletePlants: false })).rejects.toThrow('would delete 1 plant,');
    await eventually(async () => (await server.query('select from pg_locks where not granted')).length > 0);
    await other.query('commit');
    await down;
    expect(await storedPlants(database)).toHaveLength(1);
  } finally {
    await other.end();
  }
});

test('leaves a database alone that a newer version has migrated, and calls it ready', async () => {
  await using server = await disposable(migratedDatabase());
  await server.query(`insert into kysely_migration values ('9999_future', '2099-01-01T00:00:00.000Z')`);
  const table = () => server.query('select * from kysely_migration order by name');
  const before = await table();

  const { code, stdout, stderr } = await migrate({ DATABASE_URL: server.url });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe('nothing to do\n');
  const status = await migrate({ DATABASE_URL: server.url }, 'status');
  expect(status.stdout).toBe(`${APPLIED}9999_future: applied by a newer version\n`);
  expect(await table()).toEqual(before);

  await using database = await opened(connect(server.url));
  expect(await requireMigrations(database)).toMatchObject({ pending: [], unknown: ['9999_future'] });
  const logged: string[] = [];
  const gate = migrationGate(database, pino({}, { write: (line) => logged.push(line) }));
  await Promise.all([gate(), gate()]);
  await gate();
  expect(logged).toEqual([expect.stringContaining('9999_future')]);
});

describe('the gate before the schema', () => {
  const silent = pino({ level: 'silent' });

  test('lets a lost connection through to who can try again, and asks anew the next time', async () => {
    await using server = await disposable(migratedDatabase());
    const network = await startTcpProxy(server.url);
    await using database = await opened(connect(network.url), network.close);
    const gate = migrationGate(database, silent);
    const cut = network.cutNext('server_encoding', 'half');
    const failed = gate();
    await expect(failed).rejects.not.toBeInstanceOf(PlantStoreError);
    await cut;
    await gate();
  });

  test('does not let a plant fail that can wait for the connection', async () => {
    await using server = await disposable(migratedDatabase());
    const network = await startTcpProxy(server.url);
    await using database = await opened(connect(network.url), network.close);
    const plants = plantsIn(database, { schemaReady: migrationGate(database, silent) });
    const cut = network.cutNext('server_encoding', 'half');
    const plant = { id: 1n, name: 'Monstera deliciosa' };
    expect(await plants.add(plant)).toEqual(plant);
    await cut;
  });

  test('makes no plant wait for migrations', async () => {
    await using server = await disposable(emptyDatabase());
    await using database = await opened(connect(server.url));
    const plants = plantsIn(database, { schemaReady: migrationGate(database, silent), timeout: 24 * 60 * 60_000 });
    await expect(plants.add({ id: 1n, name: 'Monstera deliciosa' })).rejects.toMatchObject({
      code: 'store_unavailable',
      cause: { message: PENDING },
    });
  });
});

describe('npm run migrate', () => {
  test('applies every migration once, however many run at the same time', async () => {
    await using server = await disposable(emptyDatabase());
    const runs = await Promise.all(
      Array.from({ length: 8 }, () => migrate({ DATABASE_URL: server.url, POOL_SIZE: '2' })),
    );
    expect(runs.map(({ code, stderr }) => ({ code, stderr }))).toEqual(runs.map(() => ({ code: 0, stderr: '' })));
    expect(runs.filter(({ stdout }) => stdout === APPLIED)).toHaveLength(1);
    expect(runs.filter(({ stdout }) => stdout === 'nothing to do\n')).toHaveLength(7);
    expect(await server.query('select name from kysely_migration order by name')).toEqual(
      ALL.map((name) => ({ name })),
    );
  });

  test('status says what is pending and changes nothing', async () => {
    await using server = await disposable(emptyDatabase());
    expect(await migrate({ DATABASE_URL: server.url }, 'status')).toEqual({
      code: 0,
      stdout: ALL.map((name) => `${name}: pending\n`).join(''),
      stderr: '',
    });
    expect(await server.query(`select relname from pg_class where relname like 'kysely%'`)).toEqual([]);
  });

  test('status says what is applied; down takes it back, and deletes plants only if it is told to', async () => {
    await using server = await disposable(migratedDatabase());
    const run = (...args: string[]) => migrate({ DATABASE_URL: server.url }, ...args);
    const succeeded = (stdout: string) => ({ code: 0, stdout, stderr: '' });
    await server.query("insert into plants values (1, 'Monstera deliciosa')");
    expect(await run('status')).toEqual(succeeded(APPLIED));
    for (const name of [FIFTH, FOURTH, THIRD, SECOND])
      expect(await run('down')).toEqual(succeeded(`${name}: reverted\n`));
    expect(await run('down')).toEqual({
      code: 1,
      stdout: '',
      stderr: `reverting ${FIRST} would delete 1 plant, so nothing was changed: to delete, add --delete-plants\n`,
    });
    expect(await server.query('select name from plants')).toEqual([{ name: 'Monstera deliciosa' }]);
    expect(await run('down', '--delete-plants')).toEqual(succeeded(`${FIRST}: reverted\n`));
    await expect(server.query('select from plants')).rejects.toThrow('does not exist');
    expect(await run('down')).toEqual(succeeded('nothing to do\n'));
  });

  test.each([
    [['sideways']],
    [['up', 'down']],
    [['up', '--delete-plants']],
    [['--delete-plants']],
    [['down', '--delete-plants', '--delete-plants']],
  ])('refuses %j and says where help is', async (args) => {
    expect(await migrate({}, ...args)).toEqual({
      code: 1,
      stdout: '',
      stderr: `${args.join(' ')} is not a command of migrations\nFor help: npm run migrate -- --help\n`,
    });
  });

  test('says in one line that the server cannot be reached, without the password', async () => {
    const { code, stderr } = await migrate({ DATABASE_URL: 'postgres://plants:database-password@127.0.0.1:1/plants' });
    expect([code, stderr]).toEqual([
      1,
      "connect ECONNREFUSED 127.0.0.1:1: is Postgres running there? Otherwise fix the database's URL\n",
    ]);
  });

  test('refuses an embedded database that a running service holds', async () => {
    const folder = await temporaryFolder();
    const unlock = lockFolder(folder);
    try {
      expect(await migrate({ DATA_DIR: folder })).toEqual({
        code: 1,
        stdout: '',
        stderr: `${folder} is in use by another process: stop that one, or set DATA_DIR to another folder\n`,
      });
    } finally {
      unlock();
    }
  });
});

test.each(['LATIN1', 'SQL_ASCII'])(
  'refuses a database in %s, which cannot hold every text, and says how to make one that can',
  async (encoding) => {
    const { url, drop } = await emptyDatabase(`encoding '${encoding}' locale 'C' template template0`);
    await using database = await opened(connect(url), drop);
    const message = /^the database's encoding is [A-Z1_]+: create one with CREATE DATABASE .* ENCODING 'UTF8'/;
    await expect(migrateUp(database)).rejects.toThrow(message);
    await expect(requireMigrations(database)).rejects.toThrow(message);
  },
);
