import { execFile } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, jest, test } from '@jest/globals';
import { backUp } from '../../../src/adapters/sqlite/backup.ts';
import { get, post, TOKEN } from '../../support/api-server.ts';
import { embeddedPlants, openEmbedded } from '../../support/embedded-store.ts';
import { atEnd } from '../../support/lifetimes.ts';
import { type Service, startMain, startService, temporaryFolder } from '../../support/service-process.ts';

/* The embedded database on a disk that fills up, and on one that cannot be written. Only root can mount them. */

jest.setTimeout(600_000);

const run = promisify(execFile);

/** A disk of so many mebibytes until the end of the test. */
async function smallDisk(mebibytes: number) {
  const disk = await temporaryFolder();
  await run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', disk]);
  atEnd(() => run('umount', ['--lazy', disk]));
  const environment = { DATA_DIR: disk, ACCESS_TOKENS: TOKEN };
  return {
    disk,
    start: () => startService('/', environment),
    async refused() {
      const service = startMain('/', environment);
      expect(await service.exited).toEqual({ code: 1, signal: null });
      return service.stderr();
    },
    remount: (option: string) => run('mount', ['-o', `remount,${option}`, disk]),
  };
}

const create = async ({ apiUrl }: Service, plant: object) => (await post(apiUrl, JSON.stringify(plant))).status;

async function kill(service: Service): Promise<void> {
  service.kill('SIGKILL');
  await service.exited;
}

test('a full disk is reported, ends nothing and loses nothing', async () => {
  const { disk, start, refused, remount } = await smallDisk(20);
  const service = await start();
  const ready = async () => (await fetch(`${service.managementUrl}/ready`)).text();
  const stored: number[] = [];
  const fill = async (id: number) => create(service, { id, name: `${id} ${'🌱'.repeat(990)}` });
  while ((await fill(stored.length)) === 200) stored.push(stored.length);
  expect(stored.length).toBeGreaterThan(20);
  expect(await fill(stored.length)).toBe(503);
  expect(await ready()).toContain('the disk of the database is full, or its quota is used up');
  expect((await get(service.apiUrl, '/plants/7')).status).toBe(200);
  await remount('size=100m');
  expect(await fill(stored.length)).toBe(200);

  await kill(service);
  const again = await start();
  for (const id of [...stored, stored.length]) expect(await create(again, { id, name: 'another' })).toBe(400);
  await kill(again);

  await remount('ro');
  expect(await refused()).toBe(
    `Plant Store cannot start.\n${disk} is not a writable folder (EROFS): ` +
      'fix that, or set DATA_DIR to another one\n',
  );
});

test('a start on a full disk says that it is full, and leaves the plants as they are', async () => {
  const { disk, start, refused } = await smallDisk(5);
  const service = await start();
  expect(await create(service, { id: 1, name: 'Ficus' })).toBe(200);
  service.kill('SIGTERM');
  await service.exited;
  const filler = join(disk, 'filler');
  await expect(run('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k'])).rejects.toThrow('No space left');
  expect(await refused()).toContain('is full, or its quota is used up');
  await rm(filler);
  expect((await get((await start()).apiUrl, '/plants/1')).status).toBe(200);
});

test('a backup says that its own disk is full, and leaves nothing there', async () => {
  const folder = await temporaryFolder();
  const file = await openEmbedded(folder);
  for (let id = 0n; id < 20n; id++) await embeddedPlants(file).add({ id, name: 'x'.repeat(100_000) });
  const { disk } = await smallDisk(1);
  const target = join(disk, 'copy.db');
  await expect(backUp(folder, target)).rejects.toThrow('the copy cannot be written: its disk or quota is full');
  expect(await readdir(disk)).toEqual([]);
});
