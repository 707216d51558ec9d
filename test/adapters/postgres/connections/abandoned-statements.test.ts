import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { abandonedStatements } from '../../../../src/adapters/postgres/connections/abandoned-statements.ts';
import { eventually } from '../../../support/eventually.ts';
import { lockRows, migratedDatabase, type TestDatabase } from '../../../support/test-database.ts';

let server: TestDatabase;
const clients: Client[] = [];
beforeEach(async () => {
  server = await migratedDatabase();
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end();
  await server.drop();
});

/** Opens a connection whose statement waits for a lock. @returns the process id of its backend */
async function waitingBackend(): Promise<number> {
  const client = new Client({ connectionString: server.directUrl, application_name: 'plant-store' });
  clients.push(client);
  await client.connect();
  const { rows } = await client.query('select pg_backend_pid() as pid');
  client.query("insert into plants values (1, 'waits')").catch(() => {});
  return rows[0]?.pid;
}

test('counts what it has just abandoned, although its connection is not closed yet', async () => {
  clients.push(await lockRows(server.directUrl, [1n]));
  const [first, second] = [await waitingBackend(), await waitingBackend()];
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  await eventually(async () => (await server.query(waiting)).length === 2);
  const config = { connectionString: server.directUrl, application_name: 'plant-store' };
  const abandoned = abandonedStatements(1, new Set([first, second]), () => config);
  expect(await abandoned.tryAdd(first)).toBe(true);
  expect(await abandoned.tryAdd(second)).toBe(false);
  abandoned.allowAll();
  expect(await abandoned.tryAdd(second)).toBe(true);
});
