import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { documents } from '../support/documents/documents.ts';
import { codeBlocks, inlineCode, linkTargets, tableRows } from '../support/documents/markdown.ts';
import { projectFile } from '../support/service-process.ts';

/*
 * The README is short and true: it shows the code as it is, and links to every document. Beside it, docs.test.ts checks
 * the other documents, and commands.full.ts the commands in all of them.
 */

const read = (file: string) => readFileSync(projectFile(file), 'utf8');
const readme = read('README.md');

const NOT_CLONED = /(^|\/)node_modules(\/|$)|^(\.git|data|coverage|\.env)(\/|$)/;

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
