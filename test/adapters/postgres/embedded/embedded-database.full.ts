import { cp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { embeddedDatabase } from '../../../../src/adapters/postgres/embedded/embedded-database.ts';
import { migrateUp } from '../../../../src/adapters/postgres/schema/migrator.ts';
import { CLOSE, post, TOKEN } from '../../../support/api-server.ts';
import { embeddedFolder, storedPlantsIn } from '../../../support/embedded-template.ts';
import { type Service, startService, temporaryFolder } from '../../../support/service-process.ts';
import { plantsIn } from '../../../support/test-database.ts';

/* What a service on the embedded database does when somebody deletes or replaces its files while it runs. */

const monstera = { id: 1n, name: 'Monstera deliciosa' };

/** A database with one plant; the tests work on copies. */
let original: string;
beforeAll(async () => {
  original = await embeddedFolder();
  const database = await embeddedDatabase(original);
  await migrateUp(database);
  await plantsIn(database).add(monstera);
  await database.close();
});

const environment = (folder: string) => ({ DATA_DIR: folder, ACCESS_TOKENS: TOKEN });

async function serving() {
  const folder = join(await temporaryFolder(), 'data');
  await cp(original, folder, { recursive: true });
  return { folder, service: await startService(folder, environment(folder)) };
}

async function create({ apiUrl }: Service, id: number, name: string): Promise<number> {
  return (await post(apiUrl, JSON.stringify({ id, name }))).status;
}

async function databaseCheck({ managementUrl }: Service): Promise<string> {
  const { checks } = (await (await fetch(`${managementUrl}/ready`, { headers: CLOSE })).json()) as {
    checks: { database: string };
  };
  return checks.database;
}

async function stop(service: Service): Promise<void> {
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
}

const lost = (file: string) =>
  `${file} was deleted or replaced while the database was open, so nothing is written any more: ` +
  'restore DATA_DIR from a backup if it is gone, and restart the service';

describe('is not ready, takes no plants and writes nothing', () => {
  test.each([
    ['its folder is', '.', 'plant-store.db'],
    ['the files of Postgres are', 'postgres', 'postgres/PG_VERSION'],
  ])('once %s deleted', async (_what, deleted, missing) => {
    const { folder, service } = await serving();
    expect(await databaseCheck(service)).toBe('ok');
    await rm(join(folder, deleted), { recursive: true });
    expect(await create(service, 2, 'Ficus carica')).toBe(503);
    expect(await databaseCheck(service)).toBe(lost(join(folder, missing)));
    await stop(service);
    await expect(readdir(join(folder, deleted))).rejects.toThrow('ENOENT');
  });

  test('once its folder is another one, which another process serves', async () => {
    const { folder, service } = await serving();
    await rename(folder, `${folder}.moved`);
    await cp(original, folder, { recursive: true });
    const other = await startService(original, environment(folder));
    expect(await create(service, 2, 'Ficus carica')).toBe(503);
    expect(await create(other, 2, 'Ficus elastica')).toBe(200);
    expect(await databaseCheck(service)).toBe(lost(join(folder, 'plant-store.db')));
    await stop(service);
    expect(await create(other, 3, 'Aloe vera')).toBe(200);
    await stop(other);
    const kept = [monstera, { id: 2n, name: 'Ficus elastica' }, { id: 3n, name: 'Aloe vera' }];
    expect(await storedPlantsIn(folder)).toEqual(kept);
  });
});
