import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/* deploy/systemd/plant-store@.service, as systemd reads it where the service is installed in this folder. */

const TEMPLATE = 'plant-store@.service';

async function unit(): Promise<string> {
  return (await readFile(projectFile(`deploy/systemd/${TEMPLATE}`), 'utf8')).replaceAll(
    '/opt/plant-store',
    projectFile(''),
  );
}

/** The path of an instance, beside its template. */
async function instance(): Promise<string> {
  const folder = await temporaryFolder();
  for (const name of [TEMPLATE, 'plant-store@3001.service']) await writeFile(join(folder, name), await unit());
  return join(folder, 'plant-store@3001.service');
}

test('has no mistake that systemd finds', async () => {
  expect(await run('systemd-analyze', ['verify', '--man=no', await instance()])).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
});

test('is as hardened as a service can be that compiles at run time and needs the network', async () => {
  // Of 100; a unit that restricts nothing has 96.
  const args = ['security', '--offline=yes', '--threshold=11', '--no-pager', await instance()];
  const { code, stdout } = await run('systemd-analyze', args);
  expect([code, stdout]).toEqual([0, expect.stringContaining('Overall exposure level')]);
});
