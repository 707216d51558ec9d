import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { post, TOKEN } from '../support/api-server.ts';
import { startMain, startService, temporaryFolder } from '../support/service-process.ts';

/* The embedded database on a disk that fills up, and on one that cannot be written. */

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
if (!isRoot) process.stdout.write('Skipped what needs a disk of its own: only root can mount one\n');

(isRoot ? test : test.skip)(
  'a full disk is told, loses nothing, and is served from again once there is room',
  async () => {
    const disk = await temporaryFolder();
    const environment = { DATA_DIR: disk, ACCESS_TOKENS: TOKEN };
    const start = async () => startService('/', environment);
    const refused = async () => {
      const service = startMain('/', environment);
      expect(await service.exited).toEqual({ code: 1, signal: null });
      return service.stderr();
    };
    const size = (megabytes: number) => run('mount', ['-o', `remount,size=${megabytes}m`, disk]);

    await run('mount', ['-t', 'tmpfs', '-o', 'size=20m', 'tmpfs', disk]);
    try {
      expect(await refused()).toBe(
        `Plant Store cannot start.\nthe database in ${disk}/postgres cannot be opened: no space is left on the disk\n`,
      );
      await size(70);
      const service = await start();
      const stored: { id: number; name: string }[] = [];
      for (;;) {
        const plant = { id: stored.length, name: randomBytes(200_000).toString('hex') };
        const answer = await post(service.apiUrl, JSON.stringify(plant));
        if (answer.status !== 200) {
          expect([answer.status, await answer.json()]).toMatchObject([503, { error: 50300 }]);
          break;
        }
        stored.push(plant);
      }
      expect(stored.length).toBeGreaterThan(5);
      expect((await fetch(`${service.managementUrl}/live`)).status).toBe(200);

      await size(200);
      expect((await post(service.apiUrl, JSON.stringify({ id: stored.length, name: 'now' }))).status).toBe(200);
      service.kill('SIGKILL');
      await service.exited;

      const again = await start();
      for (const { id, name } of stored) {
        expect((await post(again.apiUrl, JSON.stringify({ id, name }))).status).toBe(200);
        expect((await post(again.apiUrl, JSON.stringify({ id, name: 'another' }))).status).toBe(400);
      }
      again.kill('SIGKILL');
      await again.exited;

      await run('mount', ['-o', 'remount,ro', disk]);
      expect(await refused()).toBe(
        `Plant Store cannot start.\n${disk} is not a writable folder (EROFS): ` +
          'fix that, or set DATA_DIR to another one\n',
      );
    } finally {
      await run('umount', ['--lazy', disk]);
    }
  },
  300_000,
);
