import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { Client } from 'pg';
import { projectFile, startNode, startService, temporaryFolder } from './support/service-process.ts';

/* What docs/operations.md tells administrators to type. */

const TOKEN = 'token-for-the-tests';

/** The SQL of the page for Postgres itself, with names that no other test uses. */
async function statements(suffix: string): Promise<string[]> {
  const page = await readFile(projectFile('docs/operations.md'), 'utf8');
  const [roles = '', settings = ''] = [...page.matchAll(/^```sql\n(.*?)^```/gms)].map(([, sql]) => sql);
  return `${roles}${settings}`
    .replaceAll(/plants_\w+/g, (name) => `${name}_${suffix}`)
    .replaceAll(/(DATABASE|\\c) plants\b/g, `$1 plants_${suffix}`)
    .replaceAll(/^(\\c .*)$/gm, '$1;')
    .split(';\n')
    .filter((statement) => statement !== '');
}

function urlFor(database: string, user?: string): string {
  const url = new URL(process.env.TEST_SERVER_URL ?? '');
  url.pathname = database;
  if (user !== undefined) Object.assign(url, { username: user, password: '...' });
  return url.href;
}

async function execute(url: string, sql: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of sql) await client.query(statement);
  } finally {
    await client.end();
  }
}

test('the roles have what migrations and the service need, and the service may not delete', async () => {
  const suffix = randomBytes(4).toString('hex');
  const database = `plants_${suffix}`;
  const [owner, service] = [`plants_owner_${suffix}`, `plants_service_${suffix}`];
  const all = await statements(suffix);
  const change = all.indexOf(`\\c ${database}`);
  expect([change, all.length]).toEqual([3, 7]);
  const administrator = urlFor(new URL(process.env.TEST_SERVER_URL ?? '').pathname);
  try {
    await execute(administrator, all.slice(0, change));
    await execute(urlFor(database), all.slice(change + 1));

    const folder = await temporaryFolder();
    const migration = startNode([projectFile('src/migrate.ts')], folder, { DATABASE_URL: urlFor(database, owner) });
    expect([(await migration.exited).code, migration.stderr()]).toEqual([0, '']);
    const environment = { DATABASE_URL: urlFor(database, service), ACCESS_TOKENS: TOKEN };
    const { apiUrl, managementUrl } = await startService(folder, environment);
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
    const create = () => fetch(`${apiUrl}/plants`, { method: 'POST', headers, body: '{"id":1,"name":"x"}' });
    expect((await create()).status).toBe(200);
    // The second time it has to read.
    expect((await create()).status).toBe(200);
    expect((await fetch(`${managementUrl}/ready`)).status).toBe(200);
    await expect(execute(urlFor(database, service), ['DELETE FROM plants'])).rejects.toThrow('permission denied');
  } finally {
    await execute(administrator, [
      `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`,
      `DROP ROLE IF EXISTS ${owner}`,
      `DROP ROLE IF EXISTS ${service}`,
    ]);
  }
});
