import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import type { Database } from '../../../../src/adapters/postgres/database.ts';
import { readiness } from '../../../../src/adapters/postgres/readiness.ts';
import type { PlantStore } from '../../../../src/application/ports.ts';
import { MAX_INT64 } from '../../../../src/domain/plant.ts';
import { atEnd, forAllTests } from '../../../support/lifetimes.ts';
import { migratedPostgres, shutDown } from '../../../support/servers/own-postgres.ts';
import { connect, plantsIn } from '../../../support/test-database.ts';

/* A server that was the primary, and that its address still leads to: what it has may be old. */

const server = forAllTests(() => migratedPostgres());
const plant = { id: 1n, name: 'Monstera', tag: 'green' };
const range = { from: 0n, to: MAX_INT64 };

let plants: ReturnType<typeof plantsIn>;
let database: Database;

beforeAll(async () => {
  await plantsIn(connect(server.url)).add(plant);
  await shutDown(server);
  await writeFile(join(server.dataFolder, 'standby.signal'), '');
  const standby = await server.restart();
  atEnd(standby.stop);
  database = connect(standby.url);
  plants = plantsIn(database, { timeout: 1_000 });
});

test('a standby is not ready, and is not taken for a primary that is read-only', async () => {
  await expect(readiness(database)()).rejects.toThrow(
    /: the server is read-only: point the database's URL at the primary\./,
  );
});

/** Of each method that reads; a new one does not compile without. */
const reads: Record<keyof Omit<PlantStore, 'write'>, Record<string, () => Promise<unknown>>> = {
  find: {
    'a plant': () => plants.find(1n),
    'a plant that it does not have': () => plants.find(2n),
  },
  scan: {
    'a page': () => plants.scan(range, 10),
    'a page that is empty': () => plants.scan({ ...range, from: 2n }, 10),
    'a page of a tag': () => plants.scan({ ...range, tag: 'green' }, 10),
    'a page of a tag that it does not have': () => plants.scan({ ...range, tag: 'red' }, 10),
    'a part of a stream': () => plants.scan(range, 2_000),
    'a part of a search': () => plants.scan({ ...range, name: 'monstera' }, 10),
  },
  readTags: { 'the tags': () => plants.readTags(undefined, 10) },
  readChanges: {
    'the changes': () => plants.readChanges({ after: undefined, limit: 10, wait: 0, signal: AbortSignal.abort() }),
  },
};

test.each(Object.values(reads).flatMap(Object.entries<() => Promise<unknown>>))(
  'no standby is read for %s',
  async (_what, read) => {
    await expect(read()).rejects.toMatchObject({ code: 'store_unavailable' });
  },
);
