import { cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/* That .ci/run fails when one of its steps does, with stand-ins for the programs that it calls. */

const ON_CONTAINER = 'echo "The tests run on Postgres from the container image postgres:18-alpine"';

/** What they do, in the language of the shell. */
const standIns = {
  'bin/npm': ON_CONTAINER,
  'bin/chromium': '',
  'bin/promtool': '',
  'bin/apt-get': '',
  'project/.ci/container': '',
  'shared/distributed/patroni.sh': '',
  'shared/distributed/citus.sh': '',
  'shared/containers/up': '',
};

type StandIns = Partial<Record<keyof typeof standIns, string | null>>;

/** Runs .ci/run in a project of stand-ins, without those that are null. */
async function runCi(others: StandIns) {
  const folder = await temporaryFolder();
  await cp(projectFile('.ci/run'), join(folder, 'project/.ci/run'));
  for (const [path, script] of Object.entries({ ...standIns, ...others })) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    if (script !== null) await writeFile(join(folder, path), `#!/bin/bash\n${script}\n`, { mode: 0o755 });
  }
  const PATH = `${join(folder, 'bin')}:${process.env.PATH}`;
  const { code, stdout, stderr } = await run(join(folder, 'project/.ci/run'), [], { PATH }, folder);
  return { code, lastLine: stderr.trimEnd().split('\n').at(-1), stdout };
}

test('.ci/run passes when every step does', async () => {
  expect(await runCi({})).toMatchObject({ code: 0 });
});

test.each<[string, StandIns]>([
  ['npm ci && npm test', { 'bin/npm': '[ $1 != ci ]' }],
  ['npm ci && npm test', { 'bin/npm': '[ $1 != test ]' }],
  ['npm run test:full', { 'bin/npm': '[ "$2" != test:full ]' }],
  ['tests on the oldest Postgres, and the report of an older one', { 'bin/npm': '[ -z "$POSTGRES_PACKAGE" ]' }],
  ['npm run check', { 'bin/npm': '[ "$2" != check ]' }],
  ['npm run test:browser', { 'bin/npm': '[ "$2" != test:browser ]' }],
  ['clusters', { 'shared/distributed/citus.sh': null }],
  ['clusters', { 'bin/apt-get': 'exit 1' }],
  ['clusters', { 'shared/distributed/citus.sh': '[ $1 != up ]' }],
  ['clusters', { 'shared/distributed/patroni.sh': '[ $1 != up ]' }],
  ['npm run test:distributed', { 'bin/npm': '[ "$2" != test:distributed ]' }],
  ['container engine', { 'shared/containers/up': 'exit 1' }],
  ['container engine', { 'shared/containers/up': null }],
  ['.ci/container', { 'project/.ci/container': 'exit 1' }],
  ['tests on Postgres in a container', { 'bin/npm': `${ON_CONTAINER}; [ $# != 4 -o "$POSTGRES_PACKAGE" ]` }],
  ['tests on Postgres in a container', { 'bin/npm': 'echo "The tests run on Postgres from embedded binaries"' }],
])('.ci/run fails and names the step "%s" for %j', async (step, standIns) => {
  const { code, lastLine } = await runCi(standIns);
  expect(code).not.toBe(0);
  expect(lastLine).toMatch(/^\.ci\/run: failed after \d+ s in: /);
  expect(lastLine?.endsWith(step)).toBe(true);
});

test.each(['exit 0', '[ "$2" != test:distributed ]'])(
  '.ci/run takes the clusters down again if npm is: %s',
  async (npm) => {
    const say = (name: string) => `[ $1 = up ] && echo ${name}://localhost || echo "${name} $1"`;
    const { stdout } = await runCi({
      'bin/npm': `${ON_CONTAINER}; ${npm}`,
      'shared/distributed/citus.sh': say('citus'),
      'shared/distributed/patroni.sh': say('patroni'),
    });
    expect(stdout.match(/^(citus|patroni) down$/gm)).toEqual(['citus down', 'patroni down']);
  },
);

test('.ci/run shows what the failing step wrote', async () => {
  const { stdout } = await runCi({
    'bin/npm': `${ON_CONTAINER}; [ $# != 4 -o "$POSTGRES_PACKAGE" ] || { echo "a test failed"; exit 1; }`,
  });
  expect(stdout).toContain('a test failed');
});
