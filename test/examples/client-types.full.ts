import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

/** What Node.js says when it runs this. */
async function output(args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await startNode(args, projectFile('')).outcome();
  return stdout + stderr;
}

/** The client's own compiler, which its generator needs to be an older one, or that of this project. */
const tsc = (of: 'examples/client' | '.', folder: string) =>
  output([projectFile(join(of, 'node_modules/typescript/bin/tsc')), '-p', folder]);

describe('the types of the TypeScript client', () => {
  test('fit it', async () => {
    expect(await tsc('examples/client', projectFile('examples/client'))).toBe('');
  });

  test.each([
    ['create-plant', 'an error that is forgotten', 'case 43100:', '', 'lacks ending return statement'],
    ['read-plants', 'an error that is forgotten', 'case 40401:', '', 'lacks ending return statement'],
    ['change-plant', 'an error that is forgotten', 'case 41200:', '', 'lacks ending return statement'],
    ['create-plant', 'an error that there is not', 'case 43100:', 'case 43101:', "Type '43101' is not comparable"],
    ['read-plants', 'an error of creates', 'case 40401:', 'case 40009:', "Type '40009' is not comparable"],
    ['create-plant', 'an id that is a number', 'BigInt(id)', 'Number(id)', "is not assignable to type 'bigint'"],
    ['read-plants', 'an id that is a number', 'BigInt(id)', 'Number(id)', "assignable to parameter of type 'bigint'"],
  ])('do not let %s pass with %s', async (program, _what, right, wrong, complaint) => {
    const copy = await temporaryFolder();
    await symlink(projectFile('node_modules'), join(copy, 'node_modules'));
    for (const file of ['package.json', 'tsconfig.json', 'plant-store.ts', 'service.ts', 'exact-json.ts']) {
      await cp(projectFile(`examples/client/${file}`), join(copy, file));
    }
    const source = await readFile(projectFile(`examples/client/${program}.ts`), 'utf8');
    expect(source).toContain(right);
    await writeFile(join(copy, `${program}.ts`), source.replace(right, wrong));
    expect(await tsc('.', copy)).toContain(complaint);
  });
});
