import { readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { faultless, judge, naturals, startLoad } from '../support/load-clients.ts';
import { debianProgram } from '../support/servers/debian-program.ts';
import { startService, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';

await debianProgram('faketime');

test('no request fails when the clock jumps a year ahead, and back', async () => {
  const database = await migratedDatabase();
  const folder = await temporaryFolder();
  const offset = join(folder, 'offset');
  const jump = async (to: string) => {
    await writeFile(`${offset}.new`, to);
    await rename(`${offset}.new`, offset);
  };
  await jump('+0');
  const service = await startService(folder, {
    DATABASE_URL: database.url,
    ACCESS_TOKENS: TOKEN,
    LD_PRELOAD: await libfaketime(),
    FAKETIME_TIMESTAMP_FILE: offset,
    FAKETIME_NO_CACHE: '1',
    // The kernel's monotonic clock does not jump either.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  });
  const load = startLoad(service.apiUrl, naturals());
  for (const to of ['+0', '+400d', '-400d', '+0']) {
    await jump(to);
    const before = load.acknowledged();
    await eventually(() => load.acknowledged() > before + 200);
    expect((await fetch(`${service.managementUrl}/ready`)).status).toBe(200);
  }
  const answers = await load.stop();
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });

  const lines = service.stdout().trimEnd().split('\n');
  const years = new Set(lines.map((line) => new Date(JSON.parse(line).time).getFullYear()));
  expect(years.size).toBeGreaterThan(2);
  expect(judge(answers, await storedPlantsAt(database.directUrl))).toEqual(faultless);
  expect(load.unsettled).toEqual({ lost: 0, unavailable: 0 });
});

/** In a folder of Debian's that is named for the architecture. */
async function libfaketime(): Promise<string> {
  for (const folder of await readdir('/usr/lib')) {
    if (folder.endsWith('-linux-gnu')) return join('/usr/lib', folder, 'faketime/libfaketime.so.1');
  }
  throw new Error('no folder of libraries');
}
