import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

test('the types of the TypeScript client are made of the document', async () => {
  const [document, made] = [projectFile('test/golden/openapi.json'), join(await temporaryFolder(), 'plant-store.ts')];
  const generate = startNode([projectFile('examples/client/generate.ts'), document, made], projectFile(''));
  expect(await generate.outcome()).toEqual({ code: 0, stdout: '', stderr: '' });
  // If not: npm run generate -w examples/client -- ../../test/golden/openapi.json
  expect(await readFile(projectFile('examples/client/plant-store.ts'), 'utf8')).toBe(await readFile(made, 'utf8'));
});
