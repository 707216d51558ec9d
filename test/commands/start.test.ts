import { expect, test } from '@jest/globals';
import { projectFile, run } from '../support/service-process.ts';

const start = (...args: string[]) =>
  run('npm', ['--silent', 'start', '--', ...args], { HOME: process.env.HOME ?? '' }, projectFile(''));

test('npm start -- --help says what configures it', async () => {
  expect(await start('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('docs/configuration.md') });
});

test('npm start -- --port 4000 is refused, since only variables configure the service', async () => {
  const stderr = /^Plant Store cannot start\.\nUnknown option '--port'.*\nFor help: npm run start -- --help\n$/s;
  expect(await start('--port', '4000')).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(stderr) });
});
