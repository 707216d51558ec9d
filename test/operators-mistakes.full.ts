import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { NOBODY } from '../tooling/postgres-server.ts';
import { get, post, refusalOf } from './support/api-server.ts';
import { sqlStatements } from './support/documents/markdown.ts';
import { openEmbedded } from './support/embedded-store.ts';
import { eventually } from './support/eventually.ts';
import { forAllTests } from './support/lifetimes.ts';
import { runMigrate } from './support/migrations.ts';
import { listening } from './support/servers/local-server.ts';
import { ownPostgres } from './support/servers/own-postgres.ts';
import {
  projectFile,
  readiness,
  run,
  runCommand,
  type Service,
  startProgram,
  startWith,
  temporaryFolder,
} from './support/service-process.ts';
import { migratedDatabase } from './support/test-database.ts';

/* What operators get wrong: the service says what is wrong and what to do, damages nothing, and notices when it is fixed. */

const plant = JSON.stringify({ id: 1, name: 'Monstera deliciosa' });

const startOn = async (DATABASE_URL: string) => startWith({ DATABASE_URL });

const databaseCheck = async (service: Service) => (await readiness(service)).checks.database;

/** What a command says after the database that it works on. */
const saidBy = (stderr: string) => stderr.replace(/^On: Postgres at .*\n/, '').trimEnd();

describe('a DATA_DIR', () => {
  test('that is a file, is below one, or cannot be made is refused', async () => {
    const file = join(await temporaryFolder(), 'file');
    await writeFile(file, 'mine');
    for (const folder of [file, join(file, 'data'), '/proc/plants/data']) {
      await expect(openEmbedded(folder)).rejects.toThrow(
        new RegExp(`^${folder} is not a writable folder \\(E[A-Z]+\\): fix that, or set DATA_DIR to another one$`),
      );
    }
    expect(await readFile(file, 'utf8')).toBe('mine');
  });

  test.each(['status', 'renew-feed'])('without a database stays so after migrate %s', async (command) => {
    const folder = join(await temporaryFolder(), 'mistyped');
    expect(await runMigrate({ DATA_DIR: folder }, command)).toEqual({
      code: 1,
      stdout: '',
      stderr: `On: ${folder}\nthere is no database in ${folder}: npm start creates one there, or set DATA_DIR\n`,
    });
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  test('whose owner took away the file, as after a start by root, is not called damaged', async () => {
    const folder = await temporaryFolder();
    await (await openEmbedded(folder)).close();
    await chmod(join(folder, 'plants.db'), 0);
    // Root may read everything.
    const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    if ('uid' in user) await run('chown', ['-R', `${NOBODY}:${NOBODY}`, folder]);
    const env = { PATH: process.env.PATH, DATA_DIR: folder };
    const service = startProgram(process.execPath, [projectFile('src/main.ts')], { cwd: '/', env, ...user });
    const stderr = expect.stringContaining(`EACCES: permission denied, open '${folder}/plants.db'`);
    expect(await service.outcome()).toMatchObject({ code: 1, stderr });
  });
});

describe('a database', () => {
  test('whose table plants was changed is not ready and stores nothing until it is fixed', async () => {
    const database = await migratedDatabase();
    const service = await startOn(database.url);
    expect((await post(service.apiUrl, plant)).status).toBe(200);
    for (const [damage, fix, message] of [
      [
        'plants drop constraint plants_pkey',
        'plants add primary key (id)',
        /^there is no unique .*, which adds what is/,
      ],
      ['plants rename tag to kind', 'plants rename kind to tag', /^column "tag" .*, which adds what is missing\./],
      ['plants rename to trees', 'trees rename to plants', /^relation "plants" .*, which adds what is missing\./],
    ] as const) {
      await database.query(`alter table ${damage}`);
      expect(await databaseCheck(service)).toMatch(message);
      await database.query(`alter table ${fix}`);
      expect(await databaseCheck(service)).toBe('ok');
    }
    // A crash would empty it.
    await database.query('alter table plants set unlogged');
    expect(await databaseCheck(service)).toMatch(/: run ALTER TABLE plants SET LOGGED as its owner$/);
    await eventually(async () => (await post(service.apiUrl, plant)).status !== 200);
    expect(await refusalOf(await post(service.apiUrl, plant))).toEqual([503, 50300, expect.any(String)]);
    await database.query('alter table plants set logged');
    expect(await databaseCheck(service)).toBe('ok');
    expect((await post(service.apiUrl, plant)).status).toBe(200);
  });

  test('that became read-only says why, and is ready again on fresh connections', async () => {
    const database = await migratedDatabase();
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`alter database ${name} set default_transaction_read_only = on`);
    const service = await startOn(database.url);
    const primary =
      /cannot execute \w+ in a read-only .*: the server is read-only: .* If it is the primary, make room on its disk/;
    expect(await databaseCheck(service)).toMatch(primary);
    const { stderr } = await runMigrate({ DATABASE_URL: database.url }, 'renew-feed');
    expect(saidBy(stderr)).toMatch(primary);
    expect((await post(service.apiUrl, plant)).status).toBe(503);
    await database.query(`begin read write; alter database ${name} reset all; commit`);
    await eventually(async () => (await databaseCheck(service)) === 'ok');
    expect((await post(service.apiUrl, plant)).status).toBe(200);
  });
});

describe('a command line', () => {
  test('of each program shows the version', async () => {
    const { version } = JSON.parse(await readFile(projectFile('package.json'), 'utf8'));
    const programs = (await readdir(projectFile('src'))).flatMap((name) => /(.*)\.ts$/.exec(name)?.[1] ?? []);
    expect(programs).toContain('main');
    for (const program of programs) {
      const stdout = `${version}\n`;
      expect([program, await runCommand(program, ['--version'], {})]).toMatchObject([program, { stdout }]);
    }
  });

  const start = (...args: string[]) =>
    run('npm', ['--silent', 'start', '--', ...args], { HOME: process.env.HOME ?? '' }, projectFile(''));

  test('npm start -- --help says what configures it', async () => {
    expect(await start('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('docs/configuration.md') });
  });

  test('npm start -- --port 4000 is refused, since only variables configure the service', async () => {
    const stderr = /^Plant Store cannot start\.\nUnknown option '--port'.*\nFor help: npm run start -- --help\n$/s;
    expect(await start('--port', '4000')).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(stderr) });
  });
});

const WRONG = 'wrong-password';

describe('a server that asks for passwords', () => {
  const database = forAllTests(async () => {
    const rules = 'host all postgres all trust\nhost all plants all scram-sha-256\n';
    const { url } = await ownPostgres([], { 'pg_hba.conf': rules });
    const migrated = await migratedDatabase(url);
    await migrated.query(`create role plants login password 'right-password'`);
    return migrated;
  });

  /** The database's address for somebody else than its superuser. */
  function urlFor(user: string, password: string, databaseName?: string): string {
    const url = new URL(database.url);
    Object.assign(url, { username: user, password });
    if (databaseName) url.pathname = databaseName;
    return url.href;
  }

  test.each<[what: string, url: () => string | Promise<string>, message: RegExp]>([
    ['a wrong password', () => urlFor('plants', WRONG), /^password .* "plants": fix the user and the password in/],
    [
      'an unknown user',
      () => urlFor('nobody', WRONG),
      /^no pg_hba.conf entry .*: add \?sslmode=require .*; otherwise fix the user in the database's URL, or its entry/,
    ],
    [
      'an unknown database',
      () => urlFor('postgres', '', 'no_plants'),
      /^database "no_plants" does not exist: create it, or /,
    ],
    [
      'a socket that is not there',
      () => 'postgres:///plants?host=/no',
      /^connect ENOENT \/no\/.s.PGSQL.5432: is Postgres running there\? Otherwise fix the database's URL$/,
    ],
    [
      'something else that listens there',
      async () => `postgres://127.0.0.1:${await listening(createServer())}/plants`,
      /^Connection terminated .*: nothing has responded in time: is Postgres running there\?/,
    ],
    [
      'no TLS, though the address asks for it,',
      () => `${urlFor('postgres', '')}?sslmode=verify-full`,
      /^The server does not support SSL connections: switch TLS on in Postgres, or take sslmode out/,
    ],
  ])('%s is reported with advice, by every command and by the service', async (_what, url, message) => {
    const environment = { DATABASE_URL: await url() };
    for (const { code, stdout, stderr } of [
      await runMigrate(environment),
      await runCommand('purge', ['--id', '1'], environment),
    ]) {
      expect([code, stdout, saidBy(stderr)]).toEqual([1, '', expect.stringMatching(message)]);
      expect(stderr).not.toContain(WRONG);
    }
    const service = await startWith(environment);
    expect(await databaseCheck(service)).toMatch(message);
    await service.until(() => service.stderr().includes('\nNot ready: '));
    expect((await post(service.apiUrl, plant)).status).toBe(503);
    expect(service.stdout() + service.stderr()).not.toContain(WRONG);
  });

  test('missing rights are reported, and noticed once they are granted', async () => {
    const service = await startOn(urlFor('plants', 'right-password'));
    const [, grants = []] = sqlStatements(await readFile(projectFile('docs/postgres.md'), 'utf8'));
    const all = grants.map((grant) => grant.replace(/plants_service;\n?/, '...')).join('; ');
    const lacking = (table: string) =>
      `permission denied for table ${table}: for the service, run as the owner ${all}; ` +
      'migrations and npm run purge need the owner itself';
    expect(await databaseCheck(service)).toBe(lacking('kysely_migration'));
    expect((await post(service.apiUrl, plant)).status).toBe(503);
    await database.query('grant select on kysely_migration to plants');
    expect(await databaseCheck(service)).toBe(lacking('plants'));
    await database.query('grant select, insert on plants to plants');
    // It creates and reads without the others.
    expect(await databaseCheck(service)).toBe(`ok, but ${lacking('change_feed')}`);
    expect((await post(service.apiUrl, plant)).status).toBe(200);
    await database.query('grant select on change_feed to plants');
    expect(await databaseCheck(service)).toBe('ok');
  });

  test('row-level security that applies to the service is reported while it does', async () => {
    await database.query('grant select on kysely_migration, change_feed to plants');
    await database.query('grant update (store, recorded) on change_feed to plants');
    await database.query('grant select, insert, update on plants to plants');
    const service = await startOn(urlFor('plants', 'right-password'));
    const { apiUrl } = service;
    const paths = ['/plants/1', '/plants', '/plants?limit=10', '/plants?limit=10&name=x', '/changes'];
    const statuses = async () => [
      (await post(apiUrl, plant)).status,
      ...(await Promise.all(paths.map((path) => get(apiUrl, path)))).map(({ status }) => status),
    ];
    const all = ['', ...paths];
    expect(await statuses()).toEqual(all.map(() => 200));
    await database.query('alter table plants enable row level security');
    expect(await statuses()).toEqual(all.map(() => 503));
    expect(await databaseCheck(service)).toMatch(
      /: run ALTER TABLE plants DISABLE ROW LEVEL SECURITY as its owner, or /,
    );
    await database.query('alter table plants disable row level security');
    await database.query('alter table change_feed enable row level security');
    expect(await databaseCheck(service)).toBe(
      'ok, but query would be affected by row-level security policy for table "change_feed": ' +
        'run ALTER TABLE ... DISABLE ROW LEVEL SECURITY as its owner, or ALTER ROLE ... BYPASSRLS',
    );
    await database.query('alter table change_feed disable row level security');
    expect(await databaseCheck(service)).toBe('ok');
    expect(await statuses()).toEqual(all.map(() => 200));
  });
});
