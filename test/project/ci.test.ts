import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/* That .ci/run fails when one of its steps does, with stand-ins for the programs that it calls. */

const ON_CONTAINER = 'echo "The tests run on Postgres from the container image postgres:18-alpine"';

interface StandIns {
  readonly npm?: string;
  readonly chromium?: string;
  /** `undefined` leaves it out. */
  readonly engine?: string | undefined;
  readonly container?: string;
  readonly aptGet?: string;
  /** `undefined` leaves it out. */
  readonly citus?: string | undefined;
  readonly patroni?: string;
}

/** Runs .ci/run in a project of stand-ins. */
async function runCi({
  npm = ON_CONTAINER,
  chromium = '',
  container = '',
  aptGet = '',
  patroni = '',
  ...others
}: StandIns) {
  const folder = await temporaryFolder();
  const { engine, citus } = { engine: '', citus: '', ...others };
  const programs = {
    'bin/npm': npm,
    'bin/chromium': chromium,
    'bin/promtool': '',
    'bin/apt-get': aptGet,
    'project/.ci/container': container,
    'shared/distributed/patroni.sh': patroni,
    ...(citus !== undefined && { 'shared/distributed/citus.sh': citus }),
    ...(engine !== undefined && { 'shared/containers/up': engine }),
  };
  for (const parts of ['bin', 'project/.ci', 'shared/containers', 'shared/distributed'])
    await mkdir(join(folder, parts), { recursive: true });
  await cp(projectFile('.ci/run'), join(folder, 'project/.ci/run'));
  for (const [path, script] of Object.entries(programs)) {
    await writeFile(join(folder, path), `#!/bin/bash\n${script}\n`);
    await chmod(join(folder, path), 0o755);
  }
  const PATH = `${join(folder, 'bin')}:${process.env.PATH}`;
  const { code, stdout, stderr } = await run(join(folder, 'project/.ci/run'), [], { PATH }, folder);
  return { code, lastLine: stderr.trimEnd().split('\n').at(-1), stdout };
}

test('.ci/run passes when every step does', async () => {
  expect(await runCi({})).toMatchObject({ code: 0 });
});

test.each<[string, StandIns]>([
  ['npm ci && npm test', { npm: '[ $1 != ci ]' }],
  ['npm ci && npm test', { npm: '[ $1 != test ]' }],
  ['npm run test:full', { npm: '[ "$2" != test:full ]' }],
  ['tests on the oldest Postgres, and the report of an older one', { npm: '[ -z "$POSTGRES_PACKAGE" ]' }],
  ['npm run check', { npm: '[ "$2" != check ]' }],
  ['npm run test:browser', { npm: '[ "$2" != test:browser ]' }],
  ['clusters', { citus: undefined }],
  ['clusters', { aptGet: 'exit 1' }],
  ['clusters', { citus: '[ $1 != up ]' }],
  ['clusters', { patroni: '[ $1 != up ]' }],
  ['npm run test:distributed', { npm: '[ "$2" != test:distributed ]' }],
  ['container engine', { engine: 'exit 1' }],
  ['container engine', { engine: undefined }],
  ['.ci/container', { container: 'exit 1' }],
  ['tests on Postgres in a container', { npm: `${ON_CONTAINER}; [ $# != 4 -o "$POSTGRES_PACKAGE" ]` }],
  ['tests on Postgres in a container', { npm: 'echo "The tests run on Postgres from embedded binaries"' }],
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
    const { stdout } = await runCi({ npm: `${ON_CONTAINER}; ${npm}`, citus: say('citus'), patroni: say('patroni') });
    expect(stdout.match(/^(citus|patroni) down$/gm)).toEqual(['citus down', 'patroni down']);
  },
);

test('.ci/run shows what the failing step wrote', async () => {
  const { stdout } = await runCi({
    npm: `${ON_CONTAINER}; [ $# != 4 -o "$POSTGRES_PACKAGE" ] || { echo "a test failed"; exit 1; }`,
  });
  expect(stdout).toContain('a test failed');
});
