import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

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
    [
      'an error number that is forgotten',
      'create-plant',
      '    case 43100:\n',
      '',
      'Function lacks ending return statement',
    ],
    [
      'one that there is not',
      'create-plant',
      'case 43100:',
      'case 43100: case 43101:',
      "Type '43101' is not comparable",
    ],
    [
      'an id that is no bigint',
      'create-plant',
      'BigInt(id)',
      'Number(id)',
      "Type 'number' is not assignable to type 'bigint'",
    ],
    [
      'an error of reads that is forgotten',
      'read-plants',
      '    case 40401:\n',
      '',
      'Function lacks ending return statement',
    ],
    [
      'one that reads do not have',
      'read-plants',
      'case 40401:',
      'case 40401: case 40009:',
      "Type '40009' is not comparable",
    ],
    [
      'an error of changes that is forgotten',
      'change-plant',
      "    case 41200:\n      return 'do it again';\n",
      '',
      'Function lacks ending return statement',
    ],
    [
      'an id to read that is no bigint',
      'read-plants',
      'BigInt(id)',
      'Number(id)',
      "is not assignable to parameter of type 'bigint'",
    ],
  ])('do not let pass %s', async (_what, program, right, wrong, complaint) => {
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
