import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/* The unit in deploy/systemd, as systemd reads it where the service is installed in this folder. */

describe('plant-store@.service', () => {
  /** The path of an instance, beside its template. */
  async function installed(): Promise<string> {
    const folder = await temporaryFolder();
    const text = await readFile(projectFile('deploy/systemd/plant-store@.service'), 'utf8');
    const unit = text.replaceAll('/opt/plant-store', projectFile(''));
    for (const name of ['plant-store@.service', 'plant-store@3001.service']) await writeFile(join(folder, name), unit);
    return join(folder, 'plant-store@3001.service');
  }

  test('has no mistake that systemd finds', async () => {
    expect(await run('systemd-analyze', ['verify', '--man=no', await installed()])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  test('is as hardened as a service that compiles and needs the network can be', async () => {
    // Of 100; a unit that restricts nothing has 96.
    const args = ['security', '--offline=yes', '--threshold=11', '--no-pager', await installed()];
    const { code, stdout } = await run('systemd-analyze', args);
    expect([code, stdout]).toEqual([0, expect.stringContaining('Overall exposure level')]);
  });
});
