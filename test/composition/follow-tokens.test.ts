import { mkdir, rename, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { followTokens } from '../../src/composition/follow-tokens.ts';
import { readConfig } from '../../src/config/config.ts';
import { atEnd } from '../support/lifetimes.ts';
import { temporaryFolder } from '../support/service-process.ts';

/* Which changes of tokens files are noticed, poll by poll. */

const ONE = 'one-token-of-the-tests';
const TWO = 'two-token-of-the-tests';
const LONGER = 'a-longer-token-of-the-tests';
const LONGEST = 'the-longest-token-of-the-tests';

/** All but the timer of the polls. */
const REAL = ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'setInterval'] as const;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: [...REAL] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Lets one poll pass. */
async function poll(): Promise<void> {
  jest.advanceTimersByTime(1_000);
  while (jest.getTimerCount() === 0) await setImmediate();
}

async function polls(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await poll();
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

test('tokens are taken when two polls have found the same, so not while they are being written', async () => {
  const file = await fileWith(ONE);
  const { applied, lines } = follow(readConfig({ ACCESS_TOKENS_FILE: file }));
  await polls(3);
  expect(applied).toEqual([]);
  await writeFile(file, LONGER);
  await poll();
  await writeFile(file, LONGEST);
  await poll();
  expect(applied).toEqual([]);
  await polls(3);
  expect(applied).toEqual([[LONGEST]]);
  expect(lines).toEqual(['the accepted tokens have changed']);
});

test('what was changed during the start is taken', async () => {
  const file = await fileWith(ONE);
  const { applied } = follow(readConfig({ ACCESS_TOKENS_FILE: file }));
  await writeFile(file, LONGER);
  await polls(2);
  expect(applied).toEqual([[LONGER]]);
});

test('what fails for another cause than the files is tried again with every poll, and logged once', async () => {
  let other: string | undefined = 'too-short';
  const tokenSources = {
    ACCESS_TOKENS_FILE: await fileWith(ONE),
    get READ_TOKENS() {
      return other as string;
    },
  };
  const { applied, lines } = follow({ tokens: { full: [], reading: [] }, tokenSources });
  await polls(4);
  expect(lines).toEqual([expect.stringMatching(/^READ_TOKENS must be .*\. The tokens before stay accepted$/)]);
  other = undefined;
  await poll();
  expect(applied).toEqual([[ONE]]);
});

test.each<[what: string, change: (folder: string) => Promise<void>, noticed: string[][]]>([
  ['written in place', (folder) => writeFile(join(folder, 'first/tokens'), LONGER), [[LONGER]]],
  [
    'written with as many bytes, and as if long ago',
    async (folder) => {
      await writeFile(join(folder, 'first/tokens'), TWO);
      await utimes(join(folder, 'first/tokens'), 1, 1);
    },
    [[TWO]],
  ],
  ['renamed over', (folder) => rename(join(folder, 'second/tokens'), join(folder, 'first/tokens')), [[TWO]]],
  [
    'behind a link to a folder that is swapped, as Kubernetes does,',
    async (folder) => {
      await symlink('second', join(folder, 'link.new'));
      await rename(join(folder, 'link.new'), join(folder, 'link'));
    },
    [[TWO]],
  ],
  // The tokens before stay accepted.
  ['removed', (folder) => unlink(join(folder, 'first/tokens')), []],
])('a file that is %s is noticed', async (_name, change, noticed) => {
  const folder = await temporaryFolder();
  for (const [version, token] of Object.entries({ first: ONE, second: TWO })) {
    await mkdir(join(folder, version));
    await writeFile(join(folder, version, 'tokens'), token);
    await utimes(join(folder, version, 'tokens'), 1, 1);
  }
  await symlink('first', join(folder, 'link'));
  const { applied, lines } = follow(readConfig({ ACCESS_TOKENS_FILE: join(folder, 'link/tokens') }));
  await polls(2);
  await change(folder);
  await polls(2);
  expect(applied).toEqual(noticed);
  expect(lines).toHaveLength(1);
});
