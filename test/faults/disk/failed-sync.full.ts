import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { apiClient } from '../../support/api-client.ts';
import { TOKEN } from '../../support/api-server.ts';
import { openEmbedded, plantsInFile, writeBeside } from '../../support/embedded-store.ts';
import { startMain, startProgram, startService, temporaryFolder } from '../../support/service-process.ts';

/*
 * A disk that reports once that it could not keep what was written, and then that all is well, as Linux does: everything
 * that was not synced by then may be gone. The kernel's responses are replaced below Node.js.
 */

const CLIENTS = 16;

test.each([
  ['a commit', 'plants.db-wal', 6, 'EIO', 0],
  ['a commit', 'plants.db-wal', 14, 'ENOSPC', 0],
  ['a checkpoint', 'plants.db', 1, 'EIO', 5],
  ['a large checkpoint, in its thread,', 'plants.db', 1, 'EIO', 20],
])(
  '%s whose sync of %s fails gets no 200, and ends the service, which says why',
  async (_what, name, call, code, megabytes) => {
    const folder = await temporaryFolder();
    const service = await startService(folder, { DATA_DIR: folder, ACCESS_TOKENS: TOKEN });
    // It counts the calls of each thread.
    const inject = `inject=fsync,fdatasync:error=${code}:when=${call}`;
    const args = ['-f', '-p', `${service.pid}`, '-P', join(folder, name), '-e', 'trace=fsync,fdatasync', '-e', inject];
    const strace = startProgram('strace', args, {});
    await strace.until(() => strace.stderr().includes('attached'));
    if (megabytes > 0) writeBeside(folder, megabytes);
    const acknowledged: { id: bigint; name: string }[] = [];
    const unavailable: number[] = [];
    let lastId = megabytes;
    // Not by fetch: undici throws outside of its promise if a server ends while it sends a large body.
    const { send } = apiClient(service.apiUrl);
    const client = async () => {
      for (;;) {
        const plant = { id: ++lastId, name: `plant ${lastId}` };
        const { status } = await send('POST', '/plants', { body: JSON.stringify(plant) });
        if (status === 200) acknowledged.push({ ...plant, id: BigInt(plant.id) });
        else unavailable.push(status);
      }
    };
    await Promise.allSettled(Array.from({ length: CLIENTS }, client));
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.stderr()).toMatch(/^the disk of .*plants\.db has failed \(disk I\/O error\).* Plant Store ends/m);
    expect(new Set(unavailable)).toEqual(new Set([503]));
    const stored = await plantsInFile(await openEmbedded(folder));
    expect(stored).toEqual(expect.arrayContaining(acknowledged));
  },
);

test('a start whose checkpoint fails leaves the WAL, which the next one writes again', async () => {
  const folder = await temporaryFolder();
  const inject = 'inject=fsync,fdatasync:error=EIO:when=3';
  const wrapper = ['strace', '-f', '-P', join(folder, 'plants.db'), '-e', 'trace=fsync,fdatasync', '-e', inject];
  const { code, stderr } = await startMain(folder, { DATA_DIR: folder }, { wrapper }).outcome();
  expect([code, stderr]).toEqual([1, expect.stringContaining('its disk reports errors')]);
  expect((await stat(join(folder, 'plants.db-wal'))).size).toBeGreaterThan(0);
});
