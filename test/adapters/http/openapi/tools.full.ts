import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startApiServer, TOKEN } from '../../../support/api-server.ts';
import { codeBlocks } from '../../../support/documents/markdown.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { projectFile, startNode, temporaryFolder } from '../../../support/service-process.ts';

/* What openapi-typescript and openapi-fetch make of the OpenAPI document. */

async function output(cwd: string, program: string, args: readonly string[], input = ''): Promise<string> {
  const started = startNode([projectFile(`examples/client/${program}`), ...args], cwd);
  started.stdin.end(input);
  const { stdout, stderr } = await started.outcome();
  return stdout + stderr;
}

test('examples/README.md has a whole client with string ids', async () => {
  const server = await startApiServer({ plants: fakePlants() });
  const folder = await temporaryFolder();
  const golden = await readFile(projectFile('test/golden/openapi.json'), 'utf8');
  await symlink(projectFile('node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(join(folder, 'openapi.json'), await output('.', 'string-ids.ts', [], golden));
  const generator = 'node_modules/openapi-typescript/bin/cli.js';
  expect(await output(folder, generator, ['openapi.json', '-o', 'plant-store.ts'])).toContain('plant-store.ts');
  const document = await readFile(projectFile('examples/README.md'), 'utf8');
  const block = codeBlocks(document).find(({ language }) => language === 'ts');
  await writeFile(join(folder, 'user.ts'), block?.text.replace('http://127.0.0.1:3000', server.url) ?? '');
  for (const file of ['exact-fetch.ts', 'exact-json.ts']) {
    await cp(projectFile(`examples/client/${file}`), join(folder, file));
  }
  const options = '--noEmit --strict --skipLibCheck --target esnext --module nodenext --allowImportingTsExtensions';
  expect(await output(folder, 'node_modules/typescript/bin/tsc', [...options.split(' '), 'user.ts'])).toBe('');
  const { stdout } = await startNode(['user.ts'], folder, { PLANT_STORE_TOKEN: TOKEN }).outcome();
  expect(stdout).toBe('9007199254740997\n');
});
