import { expect, test } from '@jest/globals';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

/* In processes of their own: the simulation replaces clocks and timers of Node.js. */

/** Resolves to the digests of the runs. @throws Error with the report if a seed fails */
async function simulate(...options: readonly string[]) {
  const args = [projectFile('test/simulation/main.ts'), '--digest', ...options];
  const { code, stdout, stderr } = await startNode(args, await temporaryFolder()).outcome();
  if (code !== 0) throw new Error(stdout + stderr);
  return stdout.match(/^\d+ \w{8}$/gm);
}

test.each([
  ['SQLite', []],
  ['Postgres', ['--postgres']],
])('200 seeds on %s keep every promise, and do the same again in another process', async (_database, options) => {
  const digests = await simulate('--seeds', '200', ...options);
  expect(digests).toHaveLength(200);
  expect(await simulate('--seeds', '20', ...options)).toEqual(digests?.slice(0, 20));
});

test.each([
  ['a creation whose response was lost got 40009, since a change in its list came first', 8424, ['--postgres']],
])('what a seed has found stays away: %s', async (_fault, seed, options) => {
  expect(await simulate('--seed', `${seed}`, ...options)).toHaveLength(1);
});
