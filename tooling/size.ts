import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/* npm run check prints how large src is: no check fails by it, but reviews look at it. */

const files = globSync('src/**/*.ts').map((path) => {
  const text = readFileSync(path, 'utf8');
  return { path, lines: text.split('\n').length - 1, exports: text.match(/^export /gm)?.length ?? 0 };
});
const sum = (of: 'lines' | 'exports', folder = 'src') =>
  files.filter(({ path }) => path.startsWith(`${folder}/`)).reduce((total, file) => total + file[of], 0);

const longest = files.toSorted((a, b) => b.lines - a.lines)[0];
const folders = Map.groupBy(files, ({ path }) => dirname(path));
const fullest = [...folders].toSorted(([, a], [, b]) => b.length - a.length)[0];

console.log(
  `src: ${sum('lines')} lines of TypeScript, ${sum('lines', 'src/adapters/postgres')} of them in adapters/postgres; ` +
    `${sum('exports')} exports; the longest file is ${longest?.path} (${longest?.lines} lines), ` +
    `the folder with the most files ${fullest?.[0]} (${fullest?.[1].length})`,
);
