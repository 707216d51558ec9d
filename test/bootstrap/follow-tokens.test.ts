import { writeFileSync } from 'node:fs';
import { mkdir, rename, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { followTokens } from '../../src/bootstrap/token-verifier.ts';
import { readConfig } from '../../src/config/config.ts';
import { atEnd } from '../support/lifetimes.ts';
import { temporaryFolder } from '../support/service-process.ts';

/* Which changes of tokens files are noticed, poll by poll. */

const ONE = 'one-token-of-the-tests';
const TWO = 'two-token-of-the-tests';
const LONGER = 'a-longer-token-of-the-tests';
const LONGEST = 'the-longest-token-of-the-tests';

/** All but the timer of the polls. */
const REAL = ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate'] as const;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: [...REAL] });
});
afterEach(() => {
  jest.useRealTimers();
});

function polls(count: number): void {
  jest.advanceTimersByTime(count * 1_000);
}

/** Follows these. @returns the lists that were applied and the lines of the log */
function follow(followed: Parameters<typeof followTokens>[0]) {
  const applied: string[][] = [];
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  atEnd(followTokens(followed, log, ({ full }) => applied.push([...full])));
  return { applied, lines };
}

const fileWith = async (token: string) => {
  const file = join(await temporaryFolder(), 'tokens');
  await writeFile(file, token);
  return file;
};

test('a file that changes after two equal readings is neither taken nor refused', async () => {
  const file = await fileWith(ONE);
  const config = readConfig({ ACCESS_TOKENS_FILE: file });
  const contents: string[] = [];
  /** What another process writes into the file just before the tokens are read. */
  function readTokens() {
    for (const content of contents.splice(0)) writeFileSync(file, content);
    return config.readTokens();
  }
  const { applied, lines } = follow({ ...config, readTokens });
  polls(2);
  await writeFile(file, LONGER);
  contents.push(LONGER.slice(0, 5));
  polls(2);
  expect([applied, lines]).toEqual([[], []]);
  await writeFile(file, LONGEST);
  polls(2);
  expect(applied).toEqual([[LONGEST]]);
  expect(lines).toEqual(['the accepted tokens have changed']);
});

test('notices a swapped folder, as of Kubernetes, and keeps tokens of a removed file', async () => {
  const folder = await temporaryFolder();
  for (const [version, token] of Object.entries({ first: ONE, second: TWO })) {
    await mkdir(join(folder, version));
    await writeFile(join(folder, version, 'tokens'), token);
    await utimes(join(folder, version, 'tokens'), 1, 1);
  }
  await symlink('first', join(folder, 'link'));
  const { applied, lines } = follow(readConfig({ ACCESS_TOKENS_FILE: join(folder, 'link/tokens') }));
  polls(2);
  await symlink('second', join(folder, 'link.new'));
  await rename(join(folder, 'link.new'), join(folder, 'link'));
  polls(2);
  expect(applied).toEqual([[TWO]]);
  await unlink(join(folder, 'second/tokens'));
  polls(2);
  expect(applied).toEqual([[TWO]]);
  expect(lines).toHaveLength(2);
});
