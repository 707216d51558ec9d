import { cp, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { embeddedPlants, openEmbedded, plantsInFile } from '../support/embedded-store.ts';
import { readPage, readToEnd } from '../support/plants/changes.ts';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

const backup = (DATA_DIR: string, file: string, environment = {}) =>
  startNode([projectFile('src/backup.ts'), file], DATA_DIR, { DATA_DIR, ...environment }).outcome();

test('copies the file while the service writes, for its user only; a copy that is restored ends all positions', async () => {
  const folder = await temporaryFolder();
  const file = await openEmbedded(folder);
  const plants = embeddedPlants(file);
  const add = (id: number) => plants.add({ id: BigInt(id), name: `plant ${id}`.padEnd(1_000) });
  await Promise.all(Array.from({ length: 500 }, (_, n) => add(n)));
  const target = join(folder, 'copy.db');
  let last = 499;
  let isOver = false;
  const running = backup(folder, target).finally(() => {
    isOver = true;
  });
  while (!isOver) await add(++last);
  expect(await running).toMatchObject({ code: 0, stdout: expect.stringContaining('has all that was stored') });
  expect((await stat(target)).mode & 0o777).toBe(0o600);
  const { next } = await readToEnd(plants);
  expect(await backup(folder, target)).toMatchObject({
    code: 1,
    stderr: `${target} exists: name a file that does not\n`,
  });

  const restored = await temporaryFolder();
  await cp(target, join(restored, 'plants.db'));
  const copy = await openEmbedded(restored);
  expect(copy.sql.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' });
  const stored = await plantsInFile(copy);
  expect(stored.length).toBeGreaterThanOrEqual(500);
  expect(stored.map(({ id }) => Number(id))).toEqual(Array.from(stored, (_, n) => n));
  // It gives out numbers again that the follower has seen.
  const others = embeddedPlants(copy);
  for (let n = 0; n < 2_000; n++) void others.add({ id: BigInt(10_000 + n), name: 'another' });
  await others.add({ id: 9_999n, name: 'another' });
  await expect(readPage(others, next)).rejects.toMatchObject({ code: 'cursor_expired' });
});

test('says what to do where there is nothing to copy', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'postgres'));
  const on = (environment: Record<string, string>) => backup(folder, 'copy.db', environment);
  expect(await on({ DATABASE_URL: 'postgres://127.0.0.1/plants' })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('pg_dump'),
  });
  await writeFile(join(folder, 'plants.db'), 'x'.repeat(5_000));
  expect(await on({})).toMatchObject({ code: 1, stderr: expect.stringContaining('is no database') });
});
