import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/* That .ci/run fails when one of its steps does, with stand-ins for the programs that it calls. */

const ON_CONTAINER = 'echo "The tests run on Postgres from the container image postgres:18-alpine"';

/** What they do, in the language of the shell. */
const standIns = {
  'bin/npm': ON_CONTAINER,
  'bin/apt-get': '',
  'bin/docker': '',
  'project/.ci/containers': '',
  'project/test/clusters/citus.sh': '',
  'project/test/clusters/patroni.sh': '',
  'shared/containers/up': '',
};

type StandIns = Partial<Record<keyof typeof standIns, string | null>>;

/** All that it finds of the machine's own. */
const tools = ['bash', 'cat', 'dirname', 'env', 'grep', 'mktemp', 'rm', 'sed', 'tee', 'timeout'];

/** Runs .ci/run in a project of stand-ins, without those that are null. */
async function runCi(others: StandIns, ...tiers: readonly string[]) {
  const folder = await temporaryFolder();
  for (const file of ['.ci/run', 'Dockerfile', 'docker-compose.yml']) {
    await cp(projectFile(file), join(folder, 'project', file));
  }
  for (const [path, script] of Object.entries({ ...standIns, ...others })) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    if (script !== null) await writeFile(join(folder, path), `#!/bin/bash\n${script}\n`, { mode: 0o755 });
  }
  for (const tool of tools) await symlink(`/usr/bin/${tool}`, join(folder, 'bin', tool));
  const PATH = join(folder, 'bin');
  const { code, stdout, stderr } = await run(join(folder, 'project/.ci/run'), tiers, { PATH }, folder);
  const steps = [...stderr.matchAll(/^\.ci\/run: \d+ s: (.*)$/gm)].map(([, step]) => step);
  return { code, lastLine: stderr.trimEnd().split('\n').at(-1), steps, stdout, stderr };
}

const tiers: Record<string, readonly string[]> = {
  fast: ['packages: curl openssl python3', 'npm ci', 'npm run check', 'npm run test:quick'],
  full: [
    'packages: curl openssl python3 prometheus faketime systemd chromium docker-compose',
    'npm ci && npm test',
    'npm run test:full',
    'tests on the oldest Postgres, and the report of an older one',
    'npm run test:browser',
  ],
  clusters: ['npm ci', 'clusters', 'npm run test:distributed'],
  containers: ['npm ci', 'container engine and base images', '.ci/containers', 'tests on Postgres in a container'],
  faults: [
    'packages: pgbouncer haproxy nginx-light faketime util-linux',
    'npm ci',
    'npm run test:faults',
    'npm run test:hostile',
    'npm run test:fuzz',
  ],
};

test.each(Object.entries(tiers))('.ci/run %s passes when every step does', async (tier, expected) => {
  const { code, steps } = await runCi({}, tier);
  expect({ code, steps }).toEqual({ code: 0, steps: expected });
});

test('.ci/run runs every tier but the faults if none is named, and installs the modules once for all', async () => {
  const { code, steps } = await runCi({});
  const { fast = [], full = [], clusters = [], containers = [] } = tiers;
  expect({ code, steps }).toEqual({
    code: 0,
    steps: [...fast, ...full, ...clusters.slice(1), ...containers.slice(1)],
  });
});

test('.ci/run refuses a tier that there is not, before it begins another', async () => {
  const { code, steps, stderr } = await runCi({}, 'fast', 'slow');
  expect({ code, steps }).toEqual({ code: 2, steps: [] });
  expect(stderr).toMatch(/^usage: \.ci\/run \[fast\] /);
});

test.each<[string, string, StandIns]>([
  ['fast', 'packages: curl openssl python3', { 'bin/apt-get': '[ $1 != update ]' }],
  ['fast', 'packages: curl openssl python3', { 'bin/apt-get': '[ $1 != install ]' }],
  ['fast', 'npm ci', { 'bin/npm': '[ $1 != ci ]' }],
  ['fast', 'npm run check', { 'bin/npm': '[ "$2" != check ]' }],
  ['fast', 'npm run test:quick', { 'bin/npm': '[ "$2" != test:quick ]' }],
  ['full', 'npm ci && npm test', { 'bin/npm': '[ $1 != ci ]' }],
  ['full', 'npm ci && npm test', { 'bin/npm': '[ $1 != test ]' }],
  ['full', 'npm run test:full', { 'bin/npm': '[ "$2" != test:full ]' }],
  ['full', 'tests on the oldest Postgres, and the report of an older one', { 'bin/npm': '[ -z "$POSTGRES_PACKAGE" ]' }],
  ['full', 'npm run test:browser', { 'bin/npm': '[ "$2" != test:browser ]' }],
  ['clusters', 'clusters', { 'project/test/clusters/citus.sh': '[ $1 != up ]' }],
  ['clusters', 'clusters', { 'project/test/clusters/patroni.sh': '[ $1 != up ]' }],
  ['clusters', 'npm run test:distributed', { 'bin/npm': '[ "$2" != test:distributed ]' }],
  ['containers', 'container engine and base images', { 'bin/docker': 'exit 1', 'shared/containers/up': 'exit 1' }],
  ['containers', 'container engine and base images', { 'bin/docker': 'exit 1', 'shared/containers/up': null }],
  ['containers', 'container engine and base images', { 'bin/docker': null, 'shared/containers/up': null }],
  ['containers', '.ci/containers', { 'project/.ci/containers': 'exit 1' }],
  ['containers', 'tests on Postgres in a container', { 'bin/npm': `${ON_CONTAINER}; [ $1 != test ]` }],
  [
    'containers',
    'tests on Postgres in a container',
    { 'bin/npm': 'echo "The tests run on Postgres from embedded binaries"' },
  ],
  ['faults', 'npm run test:faults', { 'bin/npm': '[ "$2" != test:faults ]' }],
  ['faults', 'npm run test:hostile', { 'bin/npm': '[ "$2" != test:hostile ]' }],
  ['faults', 'npm run test:fuzz', { 'bin/npm': '[ "$2" != test:fuzz ]' }],
])('.ci/run %s fails and names the step "%s" for %j', async (tier, step, standIns) => {
  const { code, lastLine } = await runCi(standIns, tier);
  expect(code).not.toBe(0);
  expect(lastLine).toMatch(/^\.ci\/run: failed after \d+ s in: /);
  expect(lastLine?.endsWith(step)).toBe(true);
});

test.each(['exit 0', '[ "$2" != test:distributed ]'])(
  '.ci/run takes the clusters down again if npm is: %s',
  async (npm) => {
    const say = (name: string) => `[ $1 = up ] && echo ${name}=there || echo "${name} $1"`;
    const { stdout } = await runCi(
      {
        'bin/npm': `echo "CITUS=$CITUS PATRONI=$PATRONI"; ${npm}`,
        'project/test/clusters/citus.sh': say('CITUS'),
        'project/test/clusters/patroni.sh': say('PATRONI'),
      },
      'clusters',
    );
    expect(stdout).toContain('CITUS=there PATRONI=there\nCITUS down\nPATRONI down\n');
  },
);

test('.ci/run has images made by the script beside the project only if the engine cannot have them', async () => {
  const script = { 'shared/containers/up': 'echo "makes $*"' };
  expect((await runCi(script, 'containers')).stdout).not.toContain('makes');
  const { stdout } = await runCi({ ...script, 'bin/docker': 'exit 1' }, 'containers');
  expect(stdout).toContain('makes postgres:18-alpine node:24-bookworm-slim\n');
});

test('.ci/run shows what the failing step wrote', async () => {
  const { stdout } = await runCi({ 'bin/npm': `${ON_CONTAINER}; [ $1 != test ] || { echo "a test failed"; exit 1; }` });
  expect(stdout).toContain('a test failed');
});

test.each(['citus', 'patroni'])(
  'test/clusters/%s.sh ends and removes nothing without a folder that is there',
  async (name) => {
    for (const args of [[], ['down'], ['down', ''], ['down', '/there/is/none'], ['remove', await temporaryFolder()]]) {
      const { code, stderr } = await run(projectFile(`test/clusters/${name}.sh`), args);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('usage: ') });
    }
  },
);

test('the workflow runs each tier', async () => {
  const workflow = await readFile(projectFile('.github/workflows/ci.yml'), 'utf8');
  const { jobs } = parse(workflow);
  const lists: string[] = jobs['on-debian'].strategy.matrix.tier.match(/\[.*?\]/g);
  const run = /^\.ci\/run (\w+)$/.exec(jobs['in-containers'].steps.at(-1).run) ?? [];
  expect([...lists.flatMap((list) => JSON.parse(list)), run[1]].toSorted()).toEqual(Object.keys(tiers).toSorted());
});
