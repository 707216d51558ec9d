import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { TOKEN } from './support/api-server.ts';
import { eventually } from './support/eventually.ts';
import { faultless, judge, naturals, startLoad } from './support/load-clients.ts';
import { projectFile, startNode, startProgram, startService, temporaryFolder } from './support/service-process.ts';
import { emptyDatabase, storedPlantsAt } from './support/test-database.ts';

/* Instances of the first version, commit b65af0d, while this one migrates their database and takes over. */

/** A folder with the first version's sources, run with this version's packages. */
async function firstVersion(): Promise<string> {
  const folder = await temporaryFolder();
  const archive = projectFile('test/fixtures/first-version.tar.gz');
  const unpacked = await startProgram('tar', ['-xzf', archive, '-C', folder], {}).exited;
  expect(unpacked.code).toBe(0);
  await symlink(projectFile('node_modules'), join(folder, 'node_modules'));
  return folder;
}

test('instances of the first version serve on, and start, while this one migrates their database', async () => {
  const database = await emptyDatabase();
  const folder = await firstVersion();
  const environment = { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN };
  const migrate = async (of: string) => {
    const migration = startNode([join(of, 'src/migrate.ts')], folder, { DATABASE_URL: database.directUrl });
    expect(await migration.exited).toEqual({ code: 0, signal: null });
    return migration.stdout();
  };
  const startFirst = async () => {
    const defaults = { PORT: '0', MANAGEMENT_PORT: '0', SHUTDOWN_DELAY: '0' };
    const service = startNode([join(folder, 'src/main.ts')], folder, { ...defaults, ...environment });
    const urls = /listens at (\S+), for operators at (\S+)\n/;
    await service.until(() => urls.test(service.stderr()));
    const [, apiUrl = '', managementUrl = ''] = urls.exec(service.stderr()) ?? [];
    return { apiUrl, managementUrl };
  };
  const isReady = async ({ managementUrl }: { readonly managementUrl: string }) =>
    (await fetch(`${managementUrl}/ready`)).ok;
  try {
    expect(await migrate(folder)).toContain('0001_create_plants');
    const old = await startFirst();
    await eventually(() => isReady(old));
    const load = startLoad(old.apiUrl, naturals());
    const more = async () => {
      const before = load.acknowledged();
      await eventually(() => load.acknowledged() > before + 100);
    };
    await more();
    expect(await migrate(projectFile(''))).toContain('0002_index_tags');
    await more();
    expect(await isReady(old)).toBe(true);
    const restarted = await startFirst();
    await eventually(() => isReady(restarted));
    const current = await startService(await temporaryFolder(), environment);
    await eventually(() => isReady(current));
    await more();
    const answers = await load.stop();

    const stored = await storedPlantsAt(database.directUrl);
    expect(load.unsettled).toEqual({ lost: 0, unavailable: 0 });
    expect(judge(answers, stored)).toEqual(faultless);
    const list = await fetch(`${current.apiUrl}/plants`, {
      headers: { Authorization: `Bearer ${TOKEN}`, Accept: 'application/x-ndjson' },
    });
    expect((await list.text()).trimEnd().split('\n')).toHaveLength(stored.length);
  } finally {
    await database.drop();
  }
}, 120_000);
