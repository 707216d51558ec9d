import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { documents as withBenchFigures, withFigures } from '../../bench/harness/results.ts';
import { errorKinds } from '../../src/adapters/http/errors.ts';
import { serverLimits } from '../../src/adapters/http/server.ts';
import { codeBlocks, FENCED, tableRows } from '../support/documents/markdown.ts';
import { projectFile } from '../support/service-process.ts';

/* What the documents say holds: links lead somewhere, tables match the code, and figures are those of the benches. */

const read = (document: string) => readFileSync(projectFile(document), 'utf8');
/** The paths of all documents. */
const documents = ['.', 'docs', 'docs/adr', 'bench', 'examples', 'test', 'test/faults', 'test/hostile'].flatMap(
  (folder) =>
    readdirSync(projectFile(folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
);

/** What its links and images point to. */
function linkTargets(document: string): string[] {
  const prose = document.replace(FENCED, '').replace(/`[^`]*`/g, '');
  return [...prose.matchAll(/(?:\]\(|\b(?:src|href)=")([^()\s"]+)/g)].map(([, target = '']) => target);
}

/** The anchors of its headings, as GitHub makes them. */
function anchors(document: string): string[] {
  const headings = document.replace(FENCED, '').matchAll(/^#+ (.*)$/gm);
  const kept = [...headings].map(([, title = '']) => title.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, ''));
  return kept.map((title) => title.replaceAll(' ', '-'));
}

const scripts = ['package.json', 'examples/client/package.json'].flatMap((file) =>
  Object.keys(JSON.parse(read(file)).scripts),
);

describe.each(documents)('%s', (name) => {
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
    const named = [...document.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, script = '']) => script);
    expect(scripts).toEqual(expect.arrayContaining(named));
    const benches = [...document.matchAll(/npm run bench -- (\w+)/g)].map(([, bench]) => `bench/${bench}.ts`);
    expect(benches.filter((file) => !existsSync(projectFile(file)))).toEqual([]);
  });
});

test.each(withBenchFigures)('%s has the figures of the last benches: npm run bench -- figures writes them', (name) => {
  const document = read(name);
  expect(document).toContain('<!-- figures: ');
  expect(withFigures(document)).toBe(document);
});

const tests = globSync('test/**/*.{test,alone,full,faults,browser,distributed}.ts', { cwd: projectFile('') }).map(
  (path) => path.replace(/(\.test|\.alone|\.full)?\.ts$/, ''),
);

/** The tests that a document names: in brackets, and in the last column of tables that is headed so. */
function namedTests(document: string): string[] {
  const bracketed = [...document.matchAll(/\[([\w/-]+(?:,\s+[\w/-]+)*)\](?!\()/g)].flatMap(([, names = '']) =>
    names.split(/,\s+/),
  );
  const tables = document.matchAll(/^\|.*\| test \|\n\|[ |-]+\n((?:\|.*\n)+)/gm);
  const cells = [...tables].flatMap(([, rows = '']) => rows.match(/[^|]*(?=\|$)/gm) ?? []);
  return [...bracketed, ...cells.flatMap((cell) => cell.match(/[\w./-]+/g) ?? [])];
}

test.each(['test/faults/README.md', 'test/hostile/README.md', 'docs/security.md'])(
  '%s names only tests that there are',
  (name) => {
    const named = namedTests(read(name));
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((test) => !tests.some((path) => `/${path}`.endsWith(`/${test}`)))).toEqual([]);
  },
);

test.each(['client/plants.ts', 'plants.py', 'plants.sh'])('examples/%s knows what to do about each error', (client) => {
  const known = new Set(
    read(`examples/${client}`)
      .match(/\b[45]\d{4}\b/g)
      ?.map(Number),
  );
  expect(Object.values(errorKinds).filter(({ error }) => !known.has(error))).toEqual([]);
});

test.each([
  ['README.md', 1],
  ['docs/reading.md', 1],
])('%s shows code as it is, but for its comments', (document, parts) => {
  const withoutComments = (code: string) => code.replace(/^ *\/\*\*[\s\S]*?\*\/\n/gm, '');
  const shown = codeBlocks(read(document)).find(({ language }) => language === 'ts')?.text ?? '';
  const files = shown.split(/^(?=\/\/ \S+\.ts$)/m).map((part) => /^\/\/ (\S+)\n(.*)$/s.exec(part) ?? []);
  expect(files).toHaveLength(parts);
  for (const [, file = '', code = ''] of files) {
    expect(withoutComments(read(file))).toContain(withoutComments(code).trim());
  }
});

test('docs/security.md has the limits that hold', () => {
  const limits = Object.fromEntries(tableRows(read('docs/security.md'), 'what'));
  const seconds = (milliseconds: number) => `${milliseconds / 1_000} s`;
  expect(limits).toMatchObject({
    headers: expect.stringMatching(new RegExp(`^${serverLimits.maxHeaderSize / 1024} KiB `)),
    'time for the headers': seconds(serverLimits.headersTimeout),
    'time for a request': seconds(serverLimits.requestTimeout),
    'a response that the client does not read': `${serverLimits.responseTimeout / 1_000} to ${seconds(2 * serverLimits.responseTimeout)}`,
    'an idle connection': `KEEP_ALIVE_TIMEOUT, ${seconds(serverLimits.keepAliveTimeout)}`,
    connections: `MAX_CONNECTIONS, ${serverLimits.maxConnections.toLocaleString('en')}`,
  });
});
