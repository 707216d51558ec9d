import { expect, test } from '@jest/globals';
import { migrations as ALL, migrateTo, runMigrate } from '../support/migrations.ts';
import { connect, emptyDatabase } from '../support/test-database.ts';

/* npm run migrate. What it does to a database is in adapters/postgres/schema/migrator.test.ts. */

const APPLIED = ALL.map((name) => `${name}: applied\n`).join('');

test('shows what is pending and applied, and applies each once, however many run', async () => {
  const server = await emptyDatabase();
  const pending = ALL.map((name) => `${name}: pending\n`).join('');
  const { host, pathname } = new URL(server.url);
  const stderr = `On: Postgres at ${host}${pathname}\n`;
  expect(await runMigrate({ DATABASE_URL: server.url }, 'status')).toEqual({ code: 0, stdout: pending, stderr });
  expect(await server.query(`select relname from pg_class where relname like 'kysely%'`)).toEqual([]);
  const environment = { DATABASE_URL: server.url, POOL_SIZE: '2' };
  const runs = await Promise.all(Array.from({ length: 8 }, () => runMigrate(environment)));
  const outcomes = runs.map(({ code, stdout }) => `${code} ${stdout}`).sort();
  expect(outcomes).toEqual([
    `0 ${APPLIED}`,
    ...Array.from({ length: 7 }, () => '0 nothing to do: all migrations are applied\n'),
  ]);
  expect(await server.query('select name from kysely_migration order by name')).toEqual(ALL.map((name) => ({ name })));
  await server.query(`insert into kysely_migration values ('9999_future', '2099-01-01T00:00:00.000Z')`);
  const stdout = `${APPLIED}9999_future: applied by a newer version\n`;
  expect(await runMigrate(environment, 'status')).toEqual({ code: 0, stdout, stderr });
});

test('says before it begins which texts of an earlier version are too long, if any are', async () => {
  const server = await emptyDatabase();
  await migrateTo('0005_webhooks', connect(server.url));
  const migrate = () => runMigrate({ DATABASE_URL: server.url });
  await server.query(`insert into plants values (1, repeat('\u{1F335}', 1000), repeat('\u{1F335}', 200))`);
  await server.query(`insert into plants values (2, 'x', repeat('x', 3000)), (3, repeat('x', 1001), null)`);
  const [first, search = '', ...others] = (await migrate()).stdout.split('\n');
  expect(first).toMatch(/^-- 2 stored plants have texts longer than this version takes/);
  expect(await server.query(search)).toEqual([{ id: '2' }, { id: '3' }]);
  expect(others).toContain('0006_index_tags_by_text: applied');
  expect(await migrate()).toMatchObject({ stdout: 'nothing to do: all migrations are applied\n' });
});

test.each(['renew-feed now', 'down'])('refuses %s and says where help is', async (line) => {
  const stderr = `${line} is no command: it must be up, status or renew-feed\nFor help: npm run migrate -- --help\n`;
  expect(await runMigrate({}, ...line.split(' '))).toEqual({ code: 1, stdout: '', stderr });
});
