import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import type { Database } from '../../../../src/adapters/postgres/connections/pool.ts';
import { atEnd, forAllTests } from '../../../support/lifetimes.ts';
import { allReads } from '../../../support/plants/all-reads.ts';
import { migratedPostgres, shutDown } from '../../../support/servers/own-postgres.ts';
import { connect, plantsIn, readinessOf, type TestPlants } from '../../../support/test-database.ts';

/* A server that was the primary, and that its address still leads to: what it has may be old. */

const server = forAllTests(() => migratedPostgres());
const plant = { id: 1n, name: 'Monstera', tag: 'green' };

let store: TestPlants;
let database: Database;

beforeAll(async () => {
  await plantsIn(connect(server.url)).add(plant);
  await shutDown(server);
  await writeFile(join(server.dataFolder, 'standby.signal'), '');
  const standby = await server.restart();
  atEnd(standby.stop);
  database = connect(standby.url);
  store = plantsIn(database, { timeout: 1_000 });
});

test('a standby is not ready, and is not taken for a primary that is read-only', async () => {
  await expect(readinessOf(database)).rejects.toThrow(
    /: the server is read-only: point the database's URL at the primary\./,
  );
});

test.each(allReads)('no standby is read for %s', async (_what, read) => {
  await expect(read(store)).rejects.toMatchObject({ code: 'store_unavailable' });
});
