import { expect, test } from '@jest/globals';
import { TOKEN } from './support/api-server.ts';
import { eventually } from './support/eventually.ts';
import { faultless, judge, naturals, startLoad } from './support/load-clients.ts';
import { runMigrate } from './support/migrations.ts';
import { type Service, startService, temporaryFolder } from './support/service-process.ts';
import { emptyDatabase, migratedDatabase, storedPlantsAt, type TestDatabase } from './support/test-database.ts';

/* Instances and a schema that do not change at the same moment. */

const start = async ({ url }: TestDatabase) =>
  startService(await temporaryFolder(), { DATABASE_URL: url, ACCESS_TOKENS: TOKEN });
const isReady = async ({ managementUrl }: Service) => (await fetch(`${managementUrl}/ready`)).ok;

test('eight instances that start at once on an empty database are ready once one job has migrated it', async () => {
  const database = await emptyDatabase();
  const services = await Promise.all(Array.from({ length: 8 }, () => start(database)));
  for (const service of services) expect(await isReady(service)).toBe(false);
  expect(await runMigrate({ DATABASE_URL: database.directUrl })).toMatchObject({ code: 0 });
  for (const service of services) await eventually(() => isReady(service));
});

test('old instances serve on, and start, while a newer version has migrated the database', async () => {
  const database = await migratedDatabase();
  const old = await start(database);
  const load = startLoad(old.apiUrl, naturals());
  const more = async () => {
    const before = load.acknowledged();
    await eventually(() => load.acknowledged() > before + 100);
  };
  await more();
  await database.query(`alter table plants add column planted_at timestamptz not null default now()`);
  await database.query(`insert into kysely_migration values ('0002_add_planted_at', '2099-01-01T00:00:00.000Z')`);
  await more();
  await eventually(() => isReady(old));
  const restarted = await start(database);
  await eventually(() => isReady(restarted));
  await more();
  expect(judge(await load.stop(), await storedPlantsAt(database.directUrl))).toEqual(faultless);
  expect(load.unsettled).toEqual({ lost: 0, unavailable: 0 });
});
