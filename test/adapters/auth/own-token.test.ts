import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ownToken } from '../../../src/adapters/auth/own-token.ts';
import { temporaryFolder } from '../../support/service-process.ts';

test.each(['', '\n', ' \r\n'])('a file that has only %j gets a new token, which is kept', async (blank) => {
  const file = join(await temporaryFolder(), 'access-token');
  await writeFile(file, blank);
  const token = await ownToken(file);
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(await readFile(file, 'utf8')).toBe(`${token}\n`);
  expect(await ownToken(file)).toBe(token);
});

test('a token that was written by hand is taken without the white space around it', async () => {
  const file = join(await temporaryFolder(), 'access-token');
  await writeFile(file, ' my-own-access-token\r\n');
  expect(await ownToken(file)).toBe('my-own-access-token');
});

test.each([
  ['could be guessed', 'fifteen-letters\n'],
  ['could be guessed without its name', 'some-long-name-here:x'],
  ["has a name, which would be the log's", 'anna:my-own-access-token'],
  ['no header can carry', 'pässwort-lang-genug'],
  ['is not alone', 'my-own-access-token\nanother-access-token'],
])('a token that %s is refused', async (_what, content) => {
  const file = join(await temporaryFolder(), 'access-token');
  await writeFile(file, content);
  const message =
    'access-token must have one token of at least 16 letters, digits and -._~+/, and no name: delete it, and another one is made';
  await expect(ownToken(file)).rejects.toThrow(message);
});
