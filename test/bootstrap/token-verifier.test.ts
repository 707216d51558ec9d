import { mkdir, rename, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { allPermissions, readOnly } from '../../src/application/permissions.ts';
import { tokenVerifier } from '../../src/bootstrap/token-verifier.ts';
import { readConfig } from '../../src/config/config.ts';
import { temporaryFolder } from '../support/service-process.ts';

/* Files of tokens that change under a running service, reading by reading. */

const [ONE, TWO, LONGER] = ['one-token-of-the-tests', 'two-token-of-the-tests', 'a-longer-token-of-the-tests'];
const CHANGED = 'the accepted tokens have changed';

/** All but the timer of the readings. */
const REAL = ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate'] as const;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: [...REAL] });
});
afterEach(() => {
  jest.useRealTimers();
});

const readings = (count: number) => jest.advanceTimersByTime(count * 1_000);

/** A verifier, and its lines in the log. */
async function verifier(environment: Record<string, string>) {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const { verifyToken } = await tokenVerifier(readConfig(environment), log);
  const accepted = () => [ONE, TWO, LONGER].filter((token) => verifyToken(token) !== undefined);
  return { accepted, verifyToken, lines };
}

test('a file is neither taken nor refused as long as it changes', async () => {
  const file = join(await temporaryFolder(), 'tokens');
  await writeFile(file, ONE);
  const { accepted, lines } = await verifier({ ACCESS_TOKENS_FILE: file });
  for (const content of [ONE, LONGER, LONGER.slice(0, 5), LONGER, LONGER.slice(0, 5)]) {
    await writeFile(file, content);
    readings(1);
  }
  expect([accepted(), lines]).toEqual([[ONE], []]);
  await writeFile(file, TWO);
  readings(2);
  expect([accepted(), lines]).toEqual([[TWO], [CHANGED]]);
});

test('notices a swapped folder, as of Kubernetes, and keeps tokens of a removed file', async () => {
  const folder = await temporaryFolder();
  for (const [version, token] of Object.entries({ first: ONE, second: TWO })) {
    await mkdir(join(folder, version));
    await writeFile(join(folder, version, 'tokens'), token);
    await utimes(join(folder, version, 'tokens'), 1, 1);
  }
  await symlink('first', join(folder, 'link'));
  const { accepted, lines } = await verifier({ ACCESS_TOKENS_FILE: join(folder, 'link/tokens') });
  readings(2);
  await symlink('second', join(folder, 'link.new'));
  await rename(join(folder, 'link.new'), join(folder, 'link'));
  readings(2);
  expect(accepted()).toEqual([TWO]);
  await unlink(join(folder, 'second/tokens'));
  readings(2);
  expect(accepted()).toEqual([TWO]);
  expect(lines).toHaveLength(2);
});

test('one file changes nothing while the other one is wrong', async () => {
  const folder = await temporaryFolder();
  const [file, readers] = [join(folder, 'tokens'), join(folder, 'readers')];
  await writeFile(file, ONE);
  await writeFile(readers, LONGER);
  const { accepted, verifyToken, lines } = await verifier({ ACCESS_TOKENS_FILE: file, READ_TOKENS_FILE: readers });
  await writeFile(readers, 'too-short');
  readings(2);
  await writeFile(file, `${TWO}\n`);
  readings(2);
  expect(accepted()).toEqual([ONE, LONGER]);
  await writeFile(readers, `${LONGER}\n${LONGER}`);
  readings(2);
  expect(accepted()).toEqual([TWO, LONGER]);
  expect(await Promise.all([TWO, LONGER].map(verifyToken))).toMatchObject([
    { permissions: allPermissions },
    { permissions: readOnly },
  ]);
  // Twice, or whoever withdraws a token would think that it is no longer accepted.
  const wrong = expect.stringContaining('(line 1 is wrong)');
  expect(lines).toEqual([wrong, wrong, CHANGED]);
  expect(lines.join()).not.toContain('-of-the-tests');
});
