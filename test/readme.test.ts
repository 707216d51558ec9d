import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { documents, withFigures } from '../bench/figures.ts';
import { errorKinds } from '../src/adapters/http/pipeline/errors.ts';
import { serverLimits } from '../src/adapters/http/sockets/server.ts';
import { readConfig, readMigrationConfig } from '../src/config/config.ts';
import { freePort } from './support/free-port.ts';
import { anchors, codeBlocks, inlineCode, linkTargets, tableRows } from './support/markdown.ts';
import { projectFile, temporaryFolder } from './support/service-process.ts';
import { emptyDatabase } from './support/test-database.ts';

/*
 * What the documents say holds: the links lead somewhere, the figures are those of the benches, and the README's commands
 * work, one after another, as a newcomer would paste them.
 */

const documentNames = ['.', 'docs', 'bench', 'examples'].flatMap((folder) =>
  readdirSync(projectFile(folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);
const read = (document: string) => readFileSync(projectFile(document), 'utf8');
const readme = read('README.md');
const scripts = ['package.json', 'examples/client/package.json'].flatMap((file) =>
  Object.keys(JSON.parse(read(file)).scripts),
);

describe.each(documentNames)('%s', (name) => {
  const document = read(name);

  test('links only to what is there', () => {
    for (const target of linkTargets(document)) {
      if (/^\w+:/.test(target)) {
        expect(target).toMatch(/^https:\/\/[\w.-]+\.\w+/);
        continue;
      }
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? name : join(dirname(name), path);
      expect({ target, exists: existsSync(projectFile(file)) }).toEqual({ target, exists: true });
      if (anchor !== undefined) expect(anchors(read(file))).toContain(anchor);
    }
  });

  test('names only scripts that a package.json has', () => {
    const named = [...document.matchAll(/npm run ([\w:-]+)/g)].map(([, script = '']) => script);
    expect(scripts).toEqual(expect.arrayContaining(named));
  });
});

test('README.md names only files that are there', () => {
  const files = globSync('**', { cwd: projectFile(''), exclude: (path) => NOT_CLONED.test(path) });
  const paths = inlineCode(readme).filter((code) => /^[\w./-]+\.(ts|md|json|ndjson|ya?ml|svg)$/.test(code));
  expect(paths.length).toBeGreaterThan(0);
  // What is told of a folder's files goes without the folder.
  const missing = paths.filter((path) => !files.some((file) => file === path || basename(file) === path));
  expect(missing.filter((path) => !path.startsWith('/'))).toEqual([]);
});

test.each(documents)('%s has the figures of the last benches: npm run bench:figures writes them', (name) => {
  const document = read(name);
  expect(document).toContain('<!-- figures: ');
  expect(withFigures(document)).toBe(document);
});

test('README.md has no other figures of speed', () => {
  const [section = ''] = /^## How fast\n[\s\S]*?(?=^## |(?![\s\S]))/m.exec(readme) ?? [];
  const prose = section.replace(/<!-- figures[\s\S]*?<!-- end of figures -->/g, '').replace(/`[^`]*`|\([^)]*\)/g, '');
  expect(section).not.toBe('');
  expect(prose).not.toMatch(/\d/);
});

test('README.md lists exactly the variables that are read', () => {
  const read = new Set<string>();
  const environment = (values: Record<string, string>) =>
    new Proxy(values, {
      get(_, name: string) {
        read.add(name);
        return values[name];
      },
    });
  readConfig(environment({}));
  // Without the first, the second is.
  readMigrationConfig(environment({ MIGRATION_DATABASE_URL: 'postgres://db/plants' }));
  const rows = tableRows(readme, 'variable');
  expect(rows.flatMap(([names = '']) => names.split(', ')).sort()).toEqual([...read].sort());

  const defaults = rows.flatMap(([names = '', values = '']) => {
    const each = values.split(', ');
    return names.split(', ').map((name, n): [string, string] => [name, each[n] ?? '']);
  });
  // Those that refer to other variables are not values.
  const given = defaults.filter(([name]) => name !== 'BASE_URL' && name !== 'MIGRATION_DATABASE_URL');
  expect(readConfig(Object.fromEntries(given))).toEqual(readConfig({}));
});

test('README.md lists exactly the errors that are answered', () => {
  const listed = tableRows(readme, 'error').flatMap(([numbers = '']) => numbers.split(', '));
  expect(listed.map(Number).sort()).toEqual(
    Object.values(errorKinds)
      .map(({ error }) => error)
      .sort(),
  );
});

test('docs/security.md has the limits that hold', () => {
  const limits = Object.fromEntries(
    tableRows(read('docs/security.md'), 'what').map(([what = '', limit]) => [what, limit]),
  );
  const seconds = (milliseconds: number) => `${milliseconds / 1_000} s`;
  expect(limits).toMatchObject({
    headers: expect.stringMatching(new RegExp(`^${serverLimits.maxHeaderSize / 1024} KiB `)),
    'time for the headers': seconds(serverLimits.headersTimeout),
    'time for a request': seconds(serverLimits.requestTimeout),
    'an answer that nobody reads': seconds(serverLimits.responseTimeout),
    'an idle connection': seconds(serverLimits.keepAliveTimeout),
    'requests sent in one piece, without waiting for answers': `${serverLimits.maxPipelined}`,
    connections: `MAX_CONNECTIONS, ${serverLimits.maxConnections.toLocaleString('en')}`,
  });
});

test('README.md has commands that work as they stand, one block after another', async () => {
  const newcomer = await newcomersShell();
  const blocks = codeBlocks(readme);
  let ran = 0;
  for (const [index, { language, text }] of blocks.entries()) {
    if (language !== 'sh' && language !== 'indented') continue;
    const answer = await newcomer.run(text);
    const next = blocks[index + 1];
    if (next?.language === 'json') expect(JSON.parse(answer)).toEqual(JSON.parse(next.text));
    ran++;
  }
  expect(ran).toBeGreaterThan(3);
}, 300_000);

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/**
 * A shell in a copy of the project. What a test cannot do as a newcomer does is done so instead:
 * - `npm ci` does nothing, since the packages are here already, and `npm test` runs a small part of the tests;
 * - `docker compose` only checks its file, if there is a compose at all: images come from registries (.ci/container builds
 *   the service's and runs it);
 * - the ports, and the address of Postgres, are the tests' own;
 * - what ends with `npm start` goes on beside the blocks that follow, until the next such one, and pauses for those that
 *   ask to stop the service.
 */
async function newcomersShell() {
  const folder = await temporaryFolder();
  const database = await emptyDatabase();
  cleanUps.push(database.drop);
  await copyProject(folder);
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

  function start(commands: string) {
    const shell = spawn('bash', ['-euo', 'pipefail', '-c', commands], {
      cwd: folder,
      env: environment,
      detached: true,
    });
    const ended = once(shell, 'close');
    const said = { stdout: '', all: '' };
    const listening = Promise.withResolvers<void>();
    shell.stdout.on('data', (chunk) => {
      said.stdout += chunk;
      said.all += chunk;
    });
    shell.stderr.on('data', (chunk) => {
      said.all += chunk;
      if (/ listens at /.test(said.all)) listening.resolve();
    });
    async function stop(): Promise<void> {
      // Its whole group, since npm does not always pass on signals.
      if (shell.exitCode === null && shell.signalCode === null) process.kill(-(shell.pid ?? 0), 'SIGTERM');
      await ended;
    }
    cleanUps.push(stop);
    return { ended, said, listening: listening.promise, stop };
  }

  async function serve(commands: string): Promise<void> {
    await service?.stop();
    const { listening, ended, said, stop } = start(commands);
    await Promise.race([listening, ended]);
    if (!/ listens at /.test(said.all)) throw new Error(`the service did not start with\n${commands}\n${said.all}`);
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
      const { ended, said } = start(commands);
      const [code] = await ended;
      if (code !== 0) throw new Error(`this ended with ${code}:\n${commands}\n${said.all}`);
      if (paused !== undefined) await serve(paused.commands);
      return said.stdout;
    },
  };
}

const NOT_CLONED = /(^|\/)node_modules(\/|$)|^(\.git|data|coverage|\.env)(\/|$)/;

async function copyProject(folder: string): Promise<void> {
  const root = projectFile('');
  await cp(root, folder, { recursive: true, filter: (source) => !NOT_CLONED.test(relative(root, source)) });
  await symlink(projectFile('node_modules'), join(folder, 'node_modules'));
}

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
    await writeFile(join(stubs, name), `#!/bin/sh\nPATH=\${PATH#*:}\n${script}\n`);
    await chmod(join(stubs, name), 0o755);
  }
  return stubs;
}
