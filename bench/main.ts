import { writeChart } from './chart.ts';
import { writeFigures } from './figures.ts';
import { changedFiles } from './output.ts';

/* npm run bench -- NAME [OPTIONS]: each bench describes its options in its first lines. */

const writing = {
  creates: ['creates beside Fastify + pg, Go and others, about 25 minutes', () => import('./creates.ts')],
  reads: ['one plant, pages and streams, beside Fastify + pg and COPY', () => import('./reads.ts')],
  search: ['a part of a name, and what searches take from others', () => import('./search.ts')],
  changes: ['deletions, and followers of the feed of changes', () => import('./changes.ts')],
  webhooks: ['what webhooks take from creates, and how fast they deliver', () => import('./webhooks.ts')],
  growth: ['an empty table, and one with 10 million plants', () => import('./growth.ts')],
  import: [
    'npm run import and COPY, creates beside imports, and a file of 10 million plants',
    () => import('./import.ts'),
  ],
  soak: ['10 minutes of full load', () => import('./soak.ts')],
  overload: ['2,000 connections on top of 64', () => import('./overload.ts')],
} as const;

const others = {
  allocation: ['the memory allocated per create, and by which functions', () => import('./allocation.ts')],
  embedded: ['the embedded database beside Fastify + SQLite', () => import('./embedded.ts')],
  citus: ['8 shards and 32, on the cluster at CITUS_URL', () => import('./citus.ts')],
  versions: [
    'two commits, after one beside itself: CPU of creates, reads, lists and imports',
    () => import('./versions.ts'),
  ],
  'import-versions': [
    'npm run import and that of an older checkout, which had no service',
    () => import('./import-versions.ts'),
  ],
  figures: ['no bench: takes what the files have over into the documents and the chart', takeOver],
} as const;

async function takeOver(): Promise<void> {
  writeFigures();
  writeChart();
}

const benches: Readonly<Record<string, readonly [what: string, run: () => Promise<unknown>]>> = {
  ...writing,
  ...others,
};
const [name = ''] = process.argv.splice(2, 1);
const chosen = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (chosen === undefined) {
  const list = Object.entries(benches).map(([name, [what]]) => `  ${name.padEnd(17)}${what}`);
  console.error(`Usage: npm run bench -- NAME [OPTIONS]\n\n${list.join('\n')}`);
  process.exitCode = 1;
} else {
  if (name in writing && changedFiles().length > 0) console.error('The tree has changes: no figures will be written.');
  await chosen[1]();
}
