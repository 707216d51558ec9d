import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { post, TOKEN } from '../../support/api-server.ts';
import { entriesOf } from '../../support/disk/power-losses.ts';
import { projectFile, startService, temporaryFolder } from '../../support/service-process.ts';

/*
 * A disk that reports once that it could not keep what was written, and then that all is well, as Linux does: everything
 * that was not synced by then may be gone.
 */

const CALLS = faultRounds > 1 ? Array.from({ length: 20 }, (_, n) => n + 1) : [1, 4];
const CLIENTS = 16;

test.each(CALLS.flatMap((call) => ['EIO', 'ENOSPC'].map((code) => [call, code] as const)))(
  'sync %i fails with %s: no 200 after it, the service ends and says why, and starts again with all it acknowledged',
  async (call, code) => {
    const folder = await temporaryFolder();
    const environment = { DATA_DIR: join(folder, 'data'), ACCESS_TOKENS: TOKEN };
    const journal = join(folder, 'journal');
    const service = await startService(folder, {
      ...environment,
      NODE_OPTIONS: `--import=file://${projectFile('test/support/disk/disk-recorder.ts')}`,
      RECORD_TO: journal,
      RECORD_FOLDER: environment.DATA_DIR,
      FAIL_SYNC: `${call},${code}`,
    });
    const acknowledged: { id: number; name: string }[] = [];
    let lastId = 0;
    const create = async () => {
      const plant = { id: ++lastId, name: `plant ${lastId}` };
      const headers = { 'X-Operation': `create ${plant.id}` };
      const { status } = await post(service.apiUrl, JSON.stringify(plant), headers);
      if (status === 200) acknowledged.push(plant);
    };
    // The recorder counts from the first response.
    await create();
    const client = async () => {
      for (;;) await create();
    };
    await Promise.allSettled(Array.from({ length: CLIENTS }, client));
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.stderr()).toContain(
      `Plant Store cannot continue: the disk of ${environment.DATA_DIR}/postgres has failed to keep what was written ` +
        `(${code}: injected, fsync). Nothing that was acknowledged is lost.\n`,
    );
    expect(acknowledged.length).toBeGreaterThan(0);

    const entries = entriesOf(await readFile(journal));
    const failed = entries.findIndex(({ entry }) => entry.op === 'failure');
    expect(failed).toBeGreaterThan(0);
    expect(entries.slice(failed + 1)).toEqual([]);

    const again = await startService(folder, environment);
    for (const plant of acknowledged) {
      expect((await post(again.apiUrl, JSON.stringify(plant))).status).toBe(200);
      expect((await post(again.apiUrl, JSON.stringify({ ...plant, name: 'another' }))).status).toBe(400);
    }
  },
);
