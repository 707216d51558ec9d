import { globSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { freePort } from '../../tooling/free-port.ts';
import { documents } from '../support/documents/documents.ts';
import { codeBlocks, inlineCode, linkTargets, tableRows } from '../support/documents/markdown.ts';
import { atEnd } from '../support/lifetimes.ts';
import { projectFile, startProgram, temporaryFolder } from '../support/service-process.ts';
import { emptyDatabase } from '../support/test-database.ts';

/*
 * The README is short and true: it shows the code as it is, links to every document, and its commands work, one after
 * another, as a newcomer would paste them. docs.test.ts beside it checks the other documents.
 */

const read = (file: string) => readFileSync(projectFile(file), 'utf8');
const readme = read('README.md');

test('shows the two commands that start the service and run the tests', () => {
  const commands = codeBlocks(readme).map(({ text }) => text.trim());
  expect(commands.slice(0, 2)).toEqual(['npm ci --omit=dev && npm start', 'npm ci && npm test']);
});

test('links to every other document', () => {
  expect(linkTargets(readme)).toEqual(expect.arrayContaining(documents.filter((name) => name !== 'README.md')));
});

test('names only files that are there', () => {
  const files = globSync('**', { cwd: projectFile(''), exclude: (path) => NOT_CLONED.test(path) });
  const paths = inlineCode(readme).filter((code) => /^[\w./-]+\.(ts|md|json|ndjson|ya?ml|svg)$/.test(code));
  const missing = paths.filter((path) => !files.some((file) => file === path || basename(file) === path));
  expect(missing).toEqual([]);
});

test('shows the code as it is in src, without its comments', () => {
  const shown = codeBlocks(readme).find(({ language }) => language === 'ts')?.text ?? '';
  const [, ...parts] = shown.split(/^\/\/ (src\/.*)\n/m);
  expect(parts.filter((_, n) => n % 2 === 0)).toEqual(['src/application/ports.ts', 'src/application/create-plant.ts']);
  for (let n = 0; n < parts.length; n += 2) {
    const [file = '', code = ''] = parts.slice(n, n + 2);
    const source = read(file).replace(/^ *\/\*\*[\s\S]*?\*\/\n/gm, '');
    expect(source).toContain(code.trim());
  }
});

test('has every folder of src on its map, and no other', () => {
  const onMap = [...readme.matchAll(/^src\/(\w+)\/ /gm)].map(([, folder]) => folder);
  const folders = readdirSync(projectFile('src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(onMap.toSorted()).toEqual(folders.map(({ name }) => name).toSorted());
});

test('gives the defaults that hold', () => {
  const rows = tableRows(readme, 'variable');
  expect(rows.length).toBeGreaterThan(0);
  const given = Object.fromEntries(rows.map(([name = '', value = '']) => [name, value]));
  expect(readConfig(given)).toEqual({ ...readConfig({}), readTokens: expect.any(Function) });
});

test('has commands that work as they stand, one block after another', async () => {
  const newcomer = await newcomersShell();
  const blocks = codeBlocks(readme);
  let [answer, ran, compared] = ['', 0, 0];
  for (const { language, text } of blocks) {
    if (language === 'json') {
      // As text, since JSON.parse would take another id for the same.
      expect(answer.trim()).toBe(text.trim());
      compared++;
    }
    if (language !== 'sh' && language !== 'indented') continue;
    answer = await newcomer.run(text);
    ran++;
  }
  expect(ran).toBeGreaterThan(3);
  expect(compared).toBe(2);
}, 300_000);

/**
 * A shell in a copy of the project. What a test cannot do as a newcomer does is done so instead:
 * - `npm ci` does nothing, since the packages are here already, and `npm test` runs a small part of the tests;
 * - `docker compose` only checks its file, if there is a compose at all: images come from registries (.ci/containers
 *   starts it);
 * - the ports, and the address of Postgres, are the tests' own;
 * - what ends with `npm start` goes on beside the blocks that follow, until the next such one, and pauses for those that
 *   ask to stop the service.
 */
async function newcomersShell() {
  const folder = await temporaryFolder();
  const database = await emptyDatabase();
  const root = projectFile('');
  await cp(root, folder, { recursive: true, filter: (source) => !NOT_CLONED.test(relative(root, source)) });
  await symlink(projectFile('node_modules'), join(folder, 'node_modules'));
  const stubs = await makeStubs(folder);
  const [port, managementPort] = [await freePort(), await freePort()];
  const environment = {
    PATH: `${stubs}:${process.env.PATH}`,
    HOME: folder,
    PORT: `${port}`,
    MANAGEMENT_PORT: `${managementPort}`,
    TEST_DATABASE_URL: process.env.TEST_SERVER_URL,
    npm_config_update_notifier: 'false',
  };
  let service: { commands: string; stop: () => Promise<unknown> } | undefined;

  const start = (commands: string) =>
    startProgram('bash', ['-euo', 'pipefail', '-c', commands], { cwd: folder, env: environment, detached: true });

  async function serve(commands: string): Promise<void> {
    await service?.stop();
    const shell = start(commands);
    await shell.until(() => / listens at /.test(shell.stderr()));
    let isStopped = false;
    const stop = () => {
      // Its whole group, since npm does not always pass on signals.
      if (!isStopped) process.kill(-(shell.pid ?? 0), 'SIGTERM');
      isStopped = true;
      return shell.exited;
    };
    atEnd(stop);
    service = { commands, stop };
  }

  return {
    /** Runs a block and resolves to what it wrote to stdout. @throws Error with all that it wrote if it fails */
    async run(block: string): Promise<string> {
      const commands = block
        .replaceAll(/\b(127\.0\.0\.1|localhost):3000\b/g, `127.0.0.1:${port}`)
        .replaceAll(/\b(127\.0\.0\.1|localhost):3001\b/g, `127.0.0.1:${managementPort}`)
        .replaceAll(/postgres:\/\/[\w:@]+:5432\/plants/g, database.url);
      if (/\bnpm start\s*$/.test(commands)) {
        await serve(commands);
        return '';
      }
      const paused = /stop the service/i.test(commands) ? service : undefined;
      await paused?.stop();
      const { code, stdout, stderr } = await start(commands).outcome();
      if (code !== 0) throw new Error(`this ended with ${code}:\n${commands}\n${stdout}${stderr}`);
      if (paused !== undefined) await serve(paused.commands);
      return stdout;
    },
  };
}

const NOT_CLONED = /(^|\/)node_modules(\/|$)|^(\.git|data|coverage|\.env)(\/|$)/;

/** Programs that stand before the real ones. @returns their folder */
async function makeStubs(folder: string): Promise<string> {
  const stubs = join(folder, 'stubs');
  await mkdir(stubs);
  const programs = {
    npm: `case $1 in ci) exit ;; test) set -- test -- test/domain ;; esac; exec npm "$@"`,
    docker: `[ "$1" = compose ] || exit 0
      for compose in 'docker compose' docker-compose; do
        if $compose version > /dev/null 2>&1; then exec $compose config --quiet; fi
      done`,
  };
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(stubs, name), `#!/bin/sh\nPATH=\${PATH#*:}\n${script}\n`, { mode: 0o755 });
  }
  return stubs;
}
