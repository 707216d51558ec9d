import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from '@jest/globals';
import { enterEndpoints, webhookPositions } from '../../src/adapters/sqlite/webhooks/positions.ts';
import { embeddedPlants, openEmbedded } from '../support/embedded-store.ts';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

/* Commands on the file of a service, which runs or not. */

const ENDPOINT = 'hooks.example 0123456789abcdef';

const run = (DATA_DIR: string, command: string, ...args: string[]) =>
  startNode([projectFile(`src/${command}.ts`), ...args], DATA_DIR, { DATA_DIR }).outcome();

test('purge, status and migrate work beside the service and without it, and those that only read create nothing', async () => {
  const folder = await temporaryFolder();
  const file = await openEmbedded(folder);
  const plants = embeddedPlants(file);
  enterEndpoints(file, [ENDPOINT]);
  await plants.add({ id: 1n, name: 'Ficus' });
  const status = { code: 0, stdout: `${ENDPOINT}: no instance delivers to it now; changes that wait: 1\n` };
  expect(await run(folder, 'webhooks')).toMatchObject(status);
  await plants.remove(1n);
  const purge = ['--id', '1', '--even-if-recent', '--yes'];
  expect(await run(folder, 'purge', ...purge)).toMatchObject({
    code: 0,
    stderr: '1 deleted plant forgotten: the ids are free\n',
  });
  expect(await plants.add({ id: 1n, name: 'another' })).toBe('created');
  await webhookPositions(file, [ENDPOINT]).take([], 60_000);
  expect((await run(folder, 'webhooks')).stdout).toBe(`${ENDPOINT}: delivers; changes that wait: 1\n`);
  expect(await run(folder, 'migrate')).toMatchObject({ code: 0, stdout: 'nothing to do\n' });
  expect(await run(folder, 'migrate', 'renew-feed')).toMatchObject({ code: 0 });
  file.close();

  const before = await readdir(folder);
  const runs = [
    run(folder, 'webhooks', 'status'),
    run(folder, 'migrate'),
    run(folder, 'purge', '--deleted-before', '1d'),
  ];
  expect((await Promise.all(runs)).map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(await readdir(folder)).toEqual(before);
});

test('they refuse a newer file in words', async () => {
  const folder = await temporaryFolder();
  const other = new DatabaseSync(join(folder, 'plants.db'));
  other.exec('pragma user_version = 99');
  other.close();
  const refusal = { code: 1, stderr: expect.stringContaining('belongs to a newer Plant Store') };
  expect(await run(folder, 'webhooks')).toMatchObject(refusal);
  expect(await run(folder, 'backup', 'copy')).toMatchObject(refusal);
  expect(await readdir(folder)).toEqual(['plants.db']);
});
