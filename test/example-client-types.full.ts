import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { projectFile, startNode, temporaryFolder } from './support/service-process.ts';

/** What Node.js says when it runs this. */
async function output(args: readonly string[]): Promise<string> {
  const process = startNode(args, projectFile(''));
  await process.exited;
  return process.stdout() + process.stderr();
}

/** The client's own compiler, which its generator needs to be an older one, or that of this project. */
const tsc = (of: 'examples/client' | '.', folder: string) =>
  output([projectFile(join(of, 'node_modules/typescript/bin/tsc')), '-p', folder]);

describe('the types of the TypeScript client', () => {
  test('fit it', async () => {
    expect(await tsc('examples/client', projectFile('examples/client'))).toBe('');
  });

  test.each([
    ['an error number that is forgotten', '    case 43100:\n', '', 'Function lacks ending return statement'],
    ['one that there is not', 'case 43100:', 'case 43100: case 43101:', "Type '43101' is not comparable"],
    ['an id that is no bigint', 'BigInt(id)', 'Number(id)', "Type 'number' is not assignable to type 'bigint'"],
  ])('do not let pass %s', async (_what, right, wrong, complaint) => {
    const copy = await temporaryFolder();
    await symlink(projectFile('node_modules'), join(copy, 'node_modules'));
    for (const file of ['package.json', 'tsconfig.json', 'plant-store.ts']) {
      await cp(projectFile(`examples/client/${file}`), join(copy, file));
    }
    const source = await readFile(projectFile('examples/client/create-plant.ts'), 'utf8');
    expect(source).toContain(right);
    await writeFile(join(copy, 'create-plant.ts'), source.replace(right, wrong));
    expect(await tsc('.', copy)).toContain(complaint);
  });
});
