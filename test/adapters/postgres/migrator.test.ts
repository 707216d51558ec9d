import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { Database } from '../../../src/adapters/postgres/database.ts';
import { embeddedDatabase } from '../../../src/adapters/postgres/embedded.ts';
import { lockFolder } from '../../../src/adapters/postgres/folder-lock.ts';
import {
  migrateDown,
  migrateUp,
  migrationGate,
  migrationStatus,
  requireMigrations,
} from '../../../src/adapters/postgres/migrator.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { projectFile, startNode, temporaryFolder } from '../../support/service-process.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { connect, emptyDatabase, migratedDatabase, plantsIn, type TestDatabase } from '../../support/test-database.ts';

const FIRST = '0001_create_plants';
const PENDING = `migrations are pending (${FIRST}): run npm run migrate`;

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
  return opened(await embeddedDatabase(await temporaryFolder()));
}

/** A database on the server, dropped when the test is over. */
async function disposable(database: Promise<TestDatabase>) {
  const { url, query, drop } = await database;
  return { url, query, [Symbol.asyncDispose]: drop };
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

    expect(await migrationStatus(database)).toEqual({ applied: [], pending: [FIRST], unknown: [] });
    await expect(requireMigrations(database)).rejects.toThrow(PENDING);

    expect(await migrateUp(database)).toEqual([FIRST]);
    expect(await requireMigrations(database)).toEqual({ applied: [FIRST], pending: [], unknown: [] });
    await add();
    expect(await migrateUp(database)).toEqual([]);

    expect(await migrateDown(database)).toEqual([FIRST]);
    await expect(add()).rejects.toThrow('"plants" does not exist');
    expect(await migrateDown(database)).toEqual([]);

    expect(await migrateUp(database)).toEqual([FIRST]);
    await add();
  });
});

test('leaves a database alone that a newer version has migrated, and calls it ready', async () => {
  await using server = await disposable(migratedDatabase());
  await server.query(`insert into kysely_migration values ('9999_future', '2099-01-01T00:00:00.000Z')`);
  const table = () => server.query('select * from kysely_migration order by name');
  const before = await table();

  const { code, stdout, stderr } = await migrate({ DATABASE_URL: server.url });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(`nothing to do\n${FIRST}: applied\n9999_future: applied by a newer version\n`);
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
    expect(runs.filter(({ stdout }) => stdout.includes(`applied: ${FIRST}\n`))).toHaveLength(1);
    expect(await server.query('select name from kysely_migration')).toEqual([{ name: FIRST }]);
  });

  test('status says what is pending and changes nothing', async () => {
    await using server = await disposable(emptyDatabase());
    expect(await migrate({ DATABASE_URL: server.url }, 'status')).toEqual({
      code: 0,
      stdout: `${FIRST}: pending\n`,
      stderr: '',
    });
    expect(await server.query(`select relname from pg_class where relname like 'kysely%'`)).toEqual([]);
  });

  test('status says what is applied, and down takes it back', async () => {
    await using server = await disposable(migratedDatabase());
    const run = (command: string) => migrate({ DATABASE_URL: server.url }, command);
    expect(await run('status')).toEqual({ code: 0, stdout: `${FIRST}: applied\n`, stderr: '' });
    expect(await run('down')).toEqual({ code: 0, stdout: `taken back: ${FIRST}\n${FIRST}: pending\n`, stderr: '' });
  });

  test.each([[['sideways']], [['up', 'down']]])('refuses %j with its usage', async (args) => {
    expect(await migrate({}, ...args)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Usage: npm run migrate [-- up|down|status]\n',
    });
  });

  test('says in one line that the server cannot be reached, without the password', async () => {
    const { code, stderr } = await migrate({ DATABASE_URL: 'postgres://plants:database-password@127.0.0.1:1/plants' });
    expect([code, stderr]).toEqual([1, 'connect ECONNREFUSED 127.0.0.1:1\n']);
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
    const message = /^the database is in [A-Z1_]+: make one with CREATE DATABASE .* ENCODING 'UTF8'/;
    await expect(migrateUp(database)).rejects.toThrow(message);
    await expect(requireMigrations(database)).rejects.toThrow(message);
  },
);
