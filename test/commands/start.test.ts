import { expect, test } from '@jest/globals';
import { projectFile, run } from '../support/service-process.ts';

const start = (...args: string[]) =>
  run('npm', ['--silent', 'start', '--', ...args], { HOME: process.env.HOME ?? '' }, projectFile(''));

test('npm start -- --help says what configures it', async () => {
  expect(await start('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('docs/configuration.md') });
});

test.each([
  [['--port', '4000'], "Unknown option '--port'"],
  [['4000'], "Unexpected argument '4000'"],
])('npm start -- %j is refused, since only variables configure the service', async (args, reason) => {
  const stderr = `^Plant Store cannot start\\.\n${reason}.*\nFor help: npm run start -- --help\n$`;
  expect(await start(...args)).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(new RegExp(stderr, 's')) });
});
