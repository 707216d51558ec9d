import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { environment } from '../../src/config/environment.ts';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

/* What .env adds to the environment. */

/** Reads the environment in a folder with this .env. */
async function environmentWith(file: string | Buffer) {
  const folder = await temporaryFolder();
  await writeFile(join(folder, '.env'), file);
  return environmentIn(folder);
}

function environmentIn(folder: string) {
  const before = process.cwd();
  process.chdir(folder);
  try {
    return environment();
  } finally {
    process.chdir(before);
  }
}

test('an empty variable leaves the value of .env, which the environment does not get', async () => {
  const own = await temporaryFolder();
  await writeFile(join(own, '.env'), 'POOL_SIZE=7\nPORT=1\n');
  const script =
    'const { environment } = await import(process.argv[1]);' +
    'const { POOL_SIZE, PORT } = environment(); console.log(POOL_SIZE, PORT, process.env.POOL_SIZE);';
  const args = ['--input-type=module', '--eval', script, projectFile('src/config/environment.ts')];
  const reader = startNode(args, own, { POOL_SIZE: '', PORT: '2' });
  expect(await reader.exited).toEqual({ code: 0, signal: null });
  expect(reader.stdout()).toBe('7 2 \n');
});

test.each([
  ['POOL_SIZE=7', { POOL_SIZE: '7' }],
  ['\uFEFFPOOL_SIZE=7\r\n\r\n  # a comment\r\n', { POOL_SIZE: '7' }],
  ['export POOL_SIZE = 7 # as many as there are\n\t\n#PORT: 1', { POOL_SIZE: '7' }],
  [`POOL_SIZE='7'\nACCESS_TOKENS="one,#two'" # it's both\nHOST=\`a\``, { ACCESS_TOKENS: "one,#two'", HOST: 'a' }],
  ['GREETING= \nPOOL_SIZE=7', { GREETING: '', POOL_SIZE: '7' }],
])('takes the file %j', async (file, values) => {
  expect(await environmentWith(file)).toMatchObject(values);
});

test.each([
  ['of a file in UTF-16', Buffer.from('\uFEFFPORT=1', 'utf16le'), '1'],
  ['that are no variables', 'DATABASE_URL: postgres://db/plants?sslmode=require\n', '1'],
  ['that are no variables', 'export\tDATABASE_URL=postgres://db/plants\n', '1'],
  ['that are no variables', 'PORT\u00A0=1\nHOST=a\n\u00A0POOL_SIZE=7\n', '1, 3'],
  ['that are no variables', 'PORT=1\n\nsecret\nHOST="a"\r\nDATABASE_URL postgres://db/plants\r\n', '3, 5'],
  ['that are no variables', 'PORT=1\rPOOL_SIZE=7', '1'],
  ['whose quotes stay open', 'GREETING="hello\nDATABASE_URL=postgres://db/plants\nHOST="::"', '1'],
  ['whose quotes stay open', 'PORT=1\nexport ACCESS_TOKENS = \'one\nHOST="a', '2, 3'],
  ['whose quotes end too soon', 'ACCESS_TOKENS="one"two"\nHOST="a"#b', '1, 2'],
  ['in which # would cut a value', 'ACCESS_TOKENS=one#two\nPORT=1 # as #1, or#2', '1'],
  ['in which # would cut a value', 'POOL_SIZE=#7\n\nACCESS_TOKENS=one two#3 # a comment', '1, 3'],
])('names the lines %s, without showing them: %j', async (_what, file, lines) => {
  const form = 'be UTF-8, with lines like NAME=value, NAME="a value with #", NAME=value # comment or # comment';
  await expect(environmentWith(file)).rejects.toThrow(new Error(`.env must ${form}, unlike line ${lines}`));
});

test('refuses a folder, as Docker makes one for a missing file, and names it', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, '.env'));
  expect(() => environmentIn(folder)).toThrow(/^\.env in \/.* cannot be read \(EISDIR: .*\): correct or remove it$/);
});
