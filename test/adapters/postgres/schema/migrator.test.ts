import { describe, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { migrationStatus } from '../../../../src/adapters/postgres/schema/migration-status.ts';
import { migrateUp } from '../../../../src/adapters/postgres/schema/migrator.ts';
import { migrationGate, requireMigrations } from '../../../../src/adapters/postgres/schema/schema-gate.ts';
import { migrations as ALL } from '../../../support/migrations.ts';
import { startTcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { connect, emptyDatabase, migratedDatabase, plantsIn } from '../../../support/test-database.ts';

const PENDING = `migrations are pending (${ALL.join(', ')}): run npm run migrate`;

test('leaves a database alone that a newer version has migrated, and calls it ready', async () => {
  const server = await migratedDatabase();
  await server.query(`insert into kysely_migration values ('9999_future', '2099-01-01T00:00:00.000Z')`);
  const table = () => server.query('select * from kysely_migration order by name');
  const before = await table();
  const database = connect(server.url);
  expect(await migrateUp(database)).toEqual([]);
  expect(await requireMigrations(database)).toMatchObject({ pending: [], unknown: ['9999_future'] });
  expect(await table()).toEqual(before);
  const logged: string[] = [];
  const gate = migrationGate(database, pino({}, { write: (line) => logged.push(line) }));
  await Promise.all([gate(), gate()]);
  await gate();
  expect(logged).toEqual([expect.stringContaining('9999_future')]);
});

describe("another application's database is left as it is, also after `migrate`, and named", () => {
  const migrations = `create table kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null);
    insert into kysely_migration values ('2024-01-01-users', '2024-01-01T00:00:00.000Z')`;
  const advice = "set the database's URL to a separate database";
  const named = (tables: string) =>
    `these tables exist, and no migration of this program has created them (${tables}): ${advice}, ` +
    'or restore the table kysely_migration as well';

  test.each([
    [
      'migrations by Kysely',
      migrations,
      `kysely_migration has the migrations of another application (2024-01-01-users, ...): ${advice}`,
    ],
    ['a table plants', 'create table plants (id serial, species text)', named('plants')],
    ['others', 'create table webhooks (); create view change_feed as select', named('change_feed, webhooks')],
  ])('that has %s', async (_what, statements, message) => {
    const { url, query } = await emptyDatabase();
    await query(statements);
    const relations = () =>
      query(`select relname from pg_class where relnamespace = 'public'::regnamespace order by 1`);
    const before = await relations();
    const database = connect(url);
    for (const use of [migrateUp, requireMigrations, migrationStatus]) {
      await expect(use(database)).rejects.toThrow(message);
    }
    expect(await relations()).toEqual(before);
  });

  test('unless what has the name is in another schema', async () => {
    const { url, query } = await emptyDatabase();
    await query('create schema theirs; create table theirs.webhooks (url text)');
    const own = new URL(url);
    own.searchParams.set('options', '-c search_path=public,theirs');
    expect(await migrateUp(connect(own.href, { statementTimeout: 0 }))).toEqual(ALL);
  });
});

describe('the gate before the schema', () => {
  const silent = pino({ level: 'silent' });

  test('does not let a plant fail that can wait for the connection', async () => {
    const server = await migratedDatabase();
    const network = await startTcpProxy(server.url);
    const database = connect(network.url);
    const plants = plantsIn(database, { schemaReady: migrationGate(database, silent) });
    const cut = network.cutNext('server_encoding', 'half');
    const plant = { id: 1n, name: 'Monstera deliciosa' };
    expect(await plants.add(plant)).toBe('created');
    await cut;
  });

  test('waits for a new check after a pause, and not while the last one is recent', async () => {
    const { url, query } = await migratedDatabase();
    const gate = migrationGate(connect(url), silent);
    const dialect = await gate();
    await query('alter table plants set unlogged');
    expect(gate()).toBe(dialect);
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 2_100);
    const checking = gate();
    clock.mockRestore();
    await expect(checking).rejects.toThrow('UNLOGGED');
  });

  test('makes no plant wait for migrations', async () => {
    const database = connect((await emptyDatabase()).url);
    const plants = plantsIn(database, { schemaReady: migrationGate(database, silent), timeout: 24 * 60 * 60_000 });
    await expect(plants.add({ id: 1n, name: 'Monstera deliciosa' })).rejects.toMatchObject({
      code: 'store_unavailable',
      cause: { message: PENDING },
    });
  });
});

test.each(['LATIN1', 'SQL_ASCII'])(
  'refuses a database in %s, and says how to make one for all texts',
  async (encoding) => {
    const database = connect((await emptyDatabase(`encoding '${encoding}' locale 'C' template template0`)).url);
    const message = /^the database's encoding is [A-Z1_]+: create one with CREATE DATABASE .* ENCODING 'UTF8'/;
    for (const use of [migrateUp, requireMigrations]) await expect(use(database)).rejects.toThrow(message);
  },
);
