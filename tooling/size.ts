import { globSync, readFileSync } from 'node:fs';

/*
 * The project's budget: npm run check fails above it, so a new promise names the one that it replaces. The numbers only
 * shrink. What is counted:
 * - lines are line feeds, of code, comments and blank lines alike;
 * - the page is the scripts, types, styles and pages that browsers get, without Swagger UI; the source is all other
 *   TypeScript and JavaScript in src, wherever it runs;
 * - exports are lines of the source that begin with `export`;
 * - tests are all TypeScript, JavaScript and shell in test, with its helpers;
 * - words are what white space separates in the documents, tables and code included.
 */

const PAGE = '{web,src/adapters/http/docs}/**/*.{js,d.ts,css,html}';
const source = textsOf('src/**/*.{ts,js}', PAGE);

const sizes = [
  ['lines of source without the page', count(source, /\n/g), 11_746],
  ['lines of the page', count(textsOf(PAGE), /\n/g), 3_184],
  ['exports of the source', count(source, /^export /gm), 398],
  ['lines of tests', count(textsOf('test/**/*.{ts,js,sh}'), /\n/g), 22_118],
  [
    'words of documents',
    count(textsOf('{README,CONTRIBUTING,docs/*,docs/adr/*,test/README,test/faults/README}.md'), /\S+/g),
    33_955,
  ],
] as const;

for (const [what, size, budget] of sizes) {
  const isOver = size > budget;
  console.log(`${size} ${what}, of ${budget}${isOver ? `: ${size - budget} too many` : ''}`);
  if (isOver) process.exitCode = 1;
}

function textsOf(files: string, except = 'test/postgres-versions/node_modules/**'): string[] {
  return globSync(files, { exclude: [except] }).map((path) => readFileSync(path, 'utf8'));
}

function count(texts: readonly string[], pattern: RegExp): number {
  return texts.reduce((total, text) => total + (text.match(pattern)?.length ?? 0), 0);
}
