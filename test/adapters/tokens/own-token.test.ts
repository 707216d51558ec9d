import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ownToken } from '../../../src/adapters/tokens/own-token.ts';
import { temporaryFolder } from '../../support/service-process.ts';

test.each(['', '\n', ' \r\n'])('a file that has only %j gets a new token, which is kept', async (blank) => {
  const folder = await temporaryFolder();
  const file = join(folder, 'access-token');
  await writeFile(file, blank);
  const token = await ownToken(folder);
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(await readFile(file, 'utf8')).toBe(`${token}\n`);
  expect(await ownToken(folder)).toBe(token);
});

test('a token that was written by hand is taken without the white space around it', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'access-token'), ' a-token-of-mine\r\n');
  expect(await ownToken(folder)).toBe('a-token-of-mine');
});
