import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { installTools } from '../support/documents/installed-tools.ts';
import { projectFile, startNode } from '../support/service-process.ts';

const tools = installTools('test/renovate');

/** What Renovate's own validator says of .github/renovate.json with a replacement, and how it ends. */
async function validation(original: string, replacement: string) {
  const folder = await tools.folder(replacement);
  const configuration = await readFile(projectFile('.github/renovate.json'), 'utf8');
  await writeFile(join(folder, 'renovate.json'), configuration.replace(original, replacement));
  const { code, stdout, stderr } = await startNode(
    [tools.bin('renovate-config-validator'), '--strict', '--no-global', 'renovate.json'],
    folder,
  ).outcome();
  return { code, said: stdout + stderr };
}

test('Renovate accepts its configuration, which keeps the pins current', async () => {
  expect(await validation('allowedVersions', 'allowedVersions')).toMatchObject({ code: 0 });
});

test('Renovate refuses an option that it does not know', async () => {
  const { code, said } = await validation('allowedVersions', 'allowedVersion');
  expect(code).toBe(1);
  expect(said).toContain('Invalid configuration option: packageRules[0].allowedVersion');
});
