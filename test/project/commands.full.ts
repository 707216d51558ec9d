import { randomBytes } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { execute } from '../../tooling/execute.ts';
import { freePort } from '../../tooling/free-port.ts';
import { codeBlocks, sqlStatements } from '../support/documents/markdown.ts';
import { atEnd } from '../support/lifetimes.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';
import { type NodeProcess, projectFile, run, startProgram, temporaryFolder } from '../support/service-process.ts';

/*
 * The commands of README.md, CONTRIBUTING.md and docs work as they stand, one block after another, as a reader would
 * paste them. Every block runs, unless it is listed here.
 */

/**
 * The document, what only this block of it has, the programs that do nothing and succeed in place of those that a test
 * cannot run, and what shows that these do what the document says. Without the last two it is no commands.
 */
const EXCEPTIONS: readonly (readonly [document: string, has: string, standIns?: string, shownBy?: string])[] = [
  // All tests, within a test.
  ['CONTRIBUTING.md', 'npm run check', 'npm', '.ci/run'],
  ['CONTRIBUTING.md', 'POSTGRES_PACKAGE=', 'npm', '.ci/run'],
  ['CONTRIBUTING.md', 'citus.sh up', 'npm test/clusters/citus.sh test/clusters/patroni.sh', '.ci/run'],
  // A user and services of the machine, which needs systemd.
  ['docs/operations.md', 'systemctl enable', 'systemctl useradd', 'test/deploy/hosts.full.ts'],
  ['docs/operations.md', 'systemctl restart', 'systemctl curl', 'test/faults/deploys.faults.ts'],
  ['docs/operations.md', 'runuser', 'node runuser', 'test/cli/beside-service.full.ts'],
  // Images from a registry.
  ['docs/operations.md', 'docker compose up', 'docker', '.ci/containers'],
  ['docs/upgrading.md', 'docker compose up', 'docker', '.ci/containers'],
  // Only test/examples need Python.
  ['docs/webhooks.md', 'plants.py receive', 'python3', 'test/examples/webhooks.full.ts'],
  // npm's Postgres brings neither.
  ['docs/postgres.md', 'pg_dump', 'pg_dump', 'test/distributed/restored-webhooks.distributed.ts'],
  ['docs/postgres.md', 'pg_restore', 'pg_restore', 'test/distributed/restored-webhooks.distributed.ts'],
  // A cluster of Kubernetes.
  ['docs/operations.md', 'kubectl create secret', 'kubectl psql', 'test/faults/kubernetes.faults.ts'],
  // No commands: a map, a usage (see below), a result, requests and a header.
  ['README.md', 'src/domain/ '],
  ['docs/import.md', 'FILE ['],
  ['docs/import.md', 'plants in 0.2 s'],
  ['docs/import.md', 'POST /import'],
  ['docs/reading.md', 'Link: '],
  ['docs/reading.md', 'GET /plants'],
  ['docs/webhooks.md', 'POST /plants HTTP'],
];

/** All others that blocks find, so that a new one does nothing to this machine that nobody has thought of. */
const PROGRAMS = 'bash cat cp curl install ln mktemp node npm openssl prometheus sed sh sleep'.split(' ');

/** What those say that run until they are stopped. */
const READY = / listens at |receiving webhooks at |Server is ready to receive web requests/;

const read = (document: string) => readFileSync(projectFile(document), 'utf8');
const documents = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: projectFile('') }).toSorted()];
const blocksOf = (document: string) => codeBlocks(read(document)).filter(({ language }) => !NO_SHELL.has(language));
const NO_SHELL = new Set(['ini', 'json', 'sql', 'ts', 'yaml']);
const START = codeBlocks(read('README.md'))[0]?.text ?? '';

test.each(documents.filter((document) => blocksOf(document).length > 0))(
  '%s has commands that work',
  async (document) => {
    const shell = await readersShell(document);
    let answer = '';
    for (const { language, text } of codeBlocks(read(document))) {
      // As text, since JSON.parse would take another id for the same.
      if (document === 'README.md' && language === 'json') expect(answer.trim()).toBe(text.trim());
      if (NO_SHELL.has(language)) continue;
      const exception = EXCEPTIONS.find(([name, has]) => name === document && text.includes(has));
      const [, , standIns] = exception ?? [];
      if (exception === undefined || standIns) answer = await shell.run(text, standIns?.split(' '));
    }
  },
  300_000,
);

test.each(EXCEPTIONS)('%s has one block with "%s"', (...[document, has, , shownBy = '']) => {
  expect(blocksOf(document).filter(({ text }) => text.includes(has))).toHaveLength(1);
  expect(existsSync(projectFile(shownBy))).toBe(true);
});

test('no block is hidden from this test, as one within a list would be', () => {
  expect(documents.filter((document) => /^[ >]+(```|~~~)|^~~~/m.test(read(document)))).toEqual([]);
});

test('docs/import.md has the usage of the command', async () => {
  const { stdout } = await run('node', [projectFile('src/import.ts'), '--help']);
  const [usage = ''] = /npm run import -- FILE .*\]/.exec(stdout) ?? [''];
  expect(read('docs/import.md')).toContain(`    ${usage} `);
});

/**
 * A shell in a copy of the project, whose programs are those above. What a test cannot do as a reader does is done so:
 * - `npm ci` does nothing, since the packages are here already, and `npm test` runs a small part of the tests;
 * - ports and absolute paths are the test's own, and so is what the document leaves to the reader. The folder's name has
 *   letters that mean something else in a URL;
 * - what goes on, such as `npm start`, does so beside the blocks that follow, until one starts the service again or
 *   needs its database.
 */
async function readersShell(document: string) {
  const folder = join(await temporaryFolder(), 'c#100%25');
  const root = projectFile('');
  await cp(root, folder, { recursive: true, filter: (source) => !NOT_CLONED.test(relative(root, source)) });
  await symlink(projectFile('node_modules'), join(folder, 'node_modules'));
  for (const path of ['bin', 'etc/systemd/system', 'opt', 'tmp']) await mkdir(join(folder, path), { recursive: true });
  await symlink(folder, join(folder, 'opt/plant-store-2.1.0'));
  await writeFile(join(folder, 'plants.csv'), 'id,name\n1,Monstera\n4711,Ficus\n');
  await writeFile(join(folder, '.curlrc'), 'fail\n');
  const paths = await Promise.all(PROGRAMS.map((program) => run('sh', ['-c', 'command -v "$0"', program])));
  for (const [n, program] of PROGRAMS.entries()) {
    const path = paths[n]?.stdout.trim() ?? '';
    if (program === 'npm') await writeProgram(join(folder, 'bin/npm'), `${NPM} exec ${path} "$@"`);
    else if (path.startsWith('/')) await symlink(path, join(folder, 'bin', program));
  }
  const ports: Record<string, string> = {};
  for (const port of [3000, 3001, 8080, 9090]) ports[port] = `${await freePort()}`;
  if (/DATABASE_URL=/.test(read(document))) ports[5432] = await startPostgres(document);
  const urlOf = (role: string) => `postgres://${role}@localhost:${ports[5432]}/plants`;
  if (document === 'docs/upgrading.md') {
    const variables = `DATABASE_URL=${urlOf('plants_service')}\nMIGRATION_DATABASE_URL=${urlOf('plants_migrator')}\n`;
    await writeFile(join(folder, '.env'), variables);
  }
  const environment = {
    HOME: folder,
    PORT: ports[3000],
    MANAGEMENT_PORT: ports[3001],
    SHUTDOWN_DELAY: '0',
    TEST_DATABASE_URL: process.env.TEST_SERVER_URL,
    npm_config_update_notifier: 'false',
  };
  const running: NodeProcess[] = [];

  async function stop(): Promise<void> {
    for (const shell of running.splice(0)) {
      // Its whole group, since npm does not always pass on signals.
      process.kill(-(shell.pid ?? 0), 'SIGTERM');
      await shell.exited;
    }
  }

  /** Runs a block and resolves to what it wrote to stdout. @throws Error with all that it wrote if it fails */
  async function runBlock(block: string, standIns: readonly string[] = []): Promise<string> {
    const commands = block
      .replaceAll('$PLANT_STORE_URL', 'http://127.0.0.1:3000')
      .replaceAll('$PLANT_STORE_TOKEN', '$(cat data/access-token)')
      .replaceAll('DATABASE_URL=...', `DATABASE_URL=${urlOf('plants_migrator')}`)
      .replaceAll('whsec_...', `whsec_${randomBytes(32).toString('base64')}`)
      .replaceAll(/(?<=localhost:|127\.0\.0\.1:|\s)(3000|3001|5432|8080|9090)\b/g, (port) => ports[port] ?? port)
      .replaceAll(/(?<=[\s=])\/(?=\w)(?!dev\/)/g, `${folder}/`)
      // Variables alone are those of the service.
      .replace(/^(\w+=\S+ *(#.*)?\n)+$/, 'set -a\n$&npm start');
    if (/npm (start|run (migrate|purge))/.test(commands)) await stop();
    const own = await temporaryFolder();
    for (const name of standIns)
      await writeProgram(name.includes('/') ? join(folder, name) : join(own, name), 'cat > /dev/null');
    const env = { ...environment, PATH: `${own}:${join(folder, 'bin')}` };
    const args = ['--norc', '-euo', 'pipefail', '-c', commands];
    const shell = startProgram('bash', args, { cwd: folder, env, detached: true });
    shell.stdin.end();
    const isReady = () => READY.test(shell.stdout() + shell.stderr());
    await shell.until(isReady).catch(() => {});
    if (isReady()) {
      running.push(shell);
      atEnd(stop);
      return '';
    }
    const { code, stdout, stderr } = await shell.outcome();
    if (code !== 0) throw new Error(`this ended with ${code}:\n${commands}\n${stdout}${stderr}`);
    return stdout;
  }

  // Other documents than the README take a service for granted, and plants in it.
  const isServed = blocksOf(document).some(({ text }) => /localhost:3000|data\/access-token|_STORE_URL/.test(text));
  if (isServed && document !== 'README.md') {
    await runBlock(START);
    await runBlock(`curl $PLANT_STORE_URL/import -H "Authorization: Bearer $PLANT_STORE_TOKEN" \\
      -H 'Content-Type: text/csv' --data-binary @plants.csv`);
  }
  return { run: runBlock };
}

const NOT_CLONED = /(^|\/)node_modules(\/|$)|^(\.git|data|coverage|\.env)(\/|$)/;
const NPM = 'case $1 in ci) exit ;; test) set -- test -- test/domain ;; esac;';

const writeProgram = (path: string, script: string) => writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });

/** With what the document tells to do in SQL before its commands: an empty database, and its owner. @returns its port */
async function startPostgres(document: string): Promise<string> {
  const { url } = await ownPostgres();
  const [twoRoles = []] = sqlStatements(read('docs/postgres.md'));
  const oneRole = ['CREATE ROLE plants LOGIN', 'CREATE DATABASE plants OWNER plants'];
  for (const statement of document === 'README.md' ? oneRole : twoRoles) await execute(url, statement);
  return new URL(url).port;
}
