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
  await writeFile(join(folder, 'access-token'), ' my-own-access-token\r\n');
  expect(await ownToken(folder)).toBe('my-own-access-token');
});

test('a token that could be guessed is refused, as it is in ACCESS_TOKENS', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'access-token'), 'fifteen-letters\n');
  const message = 'access-token has a token of fewer than 16 characters: delete it, and another one is made';
  await expect(ownToken(folder)).rejects.toThrow(message);
});
