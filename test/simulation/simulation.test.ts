import { expect, test } from '@jest/globals';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

/* In processes of their own: the simulation replaces clocks and timers of Node.js. */

async function simulation(...options: readonly string[]) {
  return startNode([projectFile('test/simulation/main.ts'), ...options], await temporaryFolder()).outcome();
}

test.each([
  ['SQLite', []],
  ['Postgres', ['--postgres']],
])('200 seeds on %s keep every promise', async (_database, options) => {
  expect(await simulation('--seeds', '200', ...options)).toMatchObject({ code: 0, stderr: '' });
});

test.each([
  ['a creation whose response was lost got 40009, since a change in its list came first', 8424, ['--postgres']],
])('what a seed has found stays away: %s', async (_fault, seed, options) => {
  expect(await simulation('--seed', `${seed}`, ...options)).toMatchObject({ code: 0 });
});

test.each([
  ['SQLite', []],
  ['Postgres', ['--postgres']],
])('a seed on %s does the same again in another process', async (_database, options) => {
  const digests = async () => (await simulation('--seeds', '20', '--digest', ...options)).stdout.match(/^\d+ \w{8}$/gm);
  const first = await digests();
  expect(first).toHaveLength(20);
  expect(await digests()).toEqual(first);
});
