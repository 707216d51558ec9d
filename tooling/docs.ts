import { readFileSync, writeFileSync } from 'node:fs';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { pino } from 'pino';
import { errorKinds } from '../src/adapters/http/errors.ts';
import { logRequest } from '../src/adapters/http/middleware/log-line.ts';
import { prometheusMetrics } from '../src/adapters/metrics/metrics.ts';
import { type Table, VARIABLES } from '../src/config/variables.ts';
import { PlantStoreError } from '../src/domain/errors.ts';

/*
 * npm run docs writes the tables that have a row for each thing of some kind in the code; with --check, as in npm run check,
 * it fails if one is stale. Names, order and `cells` are the code's. The last cells are written by people and stay; so does
 * what they have put into one row. A new row begins with the words of the code.
 */

interface Row {
  /** In the first cell, perhaps with others, separated by commas. */
  readonly name: string;
  readonly cells?: readonly string[];
  /** What the last cells begin with. */
  readonly words: readonly string[];
}

const tables: readonly [document: string, heading: string, rows: readonly Row[]][] = [
  ['README.md', 'operation', operations()],
  ['docs/errors.md', 'error', errors()],
  ['docs/configuration.md', 'variable', variables()],
  ['docs/operations.md', 'member', logMembers()],
  ['docs/operations.md', 'metric', await metrics()],
];

for (const [document, heading, rows] of tables) {
  const body = new RegExp(`(?<=^\\| ${heading} \\|.*\\n\\|[ |-]*\\n)(?:\\|.*\\n)+`, 'm');
  update(document, (text) => text.replace(body, (lines) => tableOf(rows, lines)));
}
update('.env.example', withDefaults);

function update(path: string, change: (text: string) => string): void {
  const text = readFileSync(path, 'utf8');
  const changed = change(text);
  if (changed === text) return;
  if (process.argv.includes('--check')) {
    console.error(`${path} is stale: npm run docs`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, changed);
  }
}

function tableOf(rows: readonly Row[], table: string): string {
  const known = new Map(rows.map((row) => [row.name, row]));
  const namesIn = (line: string) => (cellsOf(line)[0] ?? '').split(', ').filter((name) => known.has(name));
  const lines = table.split('\n').filter((line) => namesIn(line).length > 0);
  const all = completed(lines, rows, namesIn, ({ name, cells = [], words }) => lineOf([name, ...cells, ...words]));
  const current = all.map((line) => {
    const names = namesIn(line);
    const given = names.map((name) => known.get(name)?.cells ?? []);
    const cells = (given[0] ?? []).map((_, column) => given.flatMap((each) => each[column] || []).join(', '));
    return lineOf([names.join(', '), ...cells, ...cellsOf(line).slice(1 + cells.length)]);
  });
  return `${current.join('\n')}\n`;
}

function cellsOf(line: string): string[] {
  const cells = line.split('|').slice(1, -1);
  return cells.map((cell) => cell.trim());
}

function lineOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** Adds a line for each row that none names, behind that of the row before. */
function completed<Named extends { readonly name: string }>(
  lines: readonly string[],
  rows: readonly Named[],
  namesIn: (line: string) => readonly string[],
  newLine: (row: Named) => string,
): string[] {
  const all = [...lines];
  let last = -1;
  for (const row of rows) {
    const at = all.findIndex((line) => namesIn(line).includes(row.name));
    if (at < 0) all.splice(last + 1, 0, newLine(row));
    last = at < 0 ? last + 1 : at;
  }
  return all;
}

function operations(): Row[] {
  const { paths } = JSON.parse(readFileSync('test/golden/openapi.json', 'utf8'));
  return Object.entries<Record<string, { summary: string }>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary }]) => ({
      name: `\`${method.toUpperCase()} ${path}\``,
      words: [summary],
    })),
  );
}

/** Codes share a number where clients cannot tell them apart. */
function errors(): Row[] {
  const rows = Object.entries(errorKinds).map(([code, { error }]) => ({
    name: `${error}`,
    words: [code.replaceAll('_', ' '), ''],
  }));
  const numbered = new Map(rows.map((row) => [row.name, row]));
  return [...numbered.values()].toSorted((a, b) => Number(a.name) - Number(b.name));
}

function variables(): Row[] {
  return Object.entries<Table[string]>(VARIABLES).map(([name, [rule, fallback, shown = fallback ?? '']]) => ({
    name,
    cells: [shown],
    words: [rule.mustBe],
  }));
}

/** The members of the line of a request that has failed: others have some of them. */
function logMembers(): Row[] {
  const members = new Set<string>();
  const log = pino({
    hooks: {
      logMethod([line]) {
        for (const name of Object.keys(Object(line))) members.add(name);
      },
    },
  });
  const req = new IncomingMessage(new Socket());
  const failure = { error: 50_300, thrown: new PlantStoreError('store_unavailable') };
  const state = { startedAt: 0, requestId: '', failure };
  logRequest({ req, res: new ServerResponse(req), state }, log);
  return [...members].map((name) => ({ name, words: [''] }));
}

async function metrics(): Promise<Row[]> {
  const { collectFrom, webhooks, text } = prometheusMetrics();
  const none = async () => 0;
  const api = { operations: [], streams: () => 0, followers: () => 0 };
  collectFrom(api, { connections: () => ({}), heldBack: none, ready: none });
  webhooks(
    [],
    async () => [],
    () => 0,
  );
  const rows = [...(await text()).matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', help = '']) => ({
    name: name.replace(/^(nodejs|process)_.*/, '$1_\\*'),
    words: [help],
  }));
  return [...new Map(rows.map((row) => [row.name, row])).values()];
}

/** .env.example has a line for each variable, with its default or with an example. */
function withDefaults(file: string): string {
  const defaults = new Map(
    Object.entries<Table[string]>(VARIABLES).map(([name, [, fallback = '']]) => [name, fallback]),
  );
  const namesIn = (line: string) => /^# (\w+)=/.exec(line)?.slice(1) ?? [];
  const lines = file.split('\n').filter((line) => namesIn(line).every((name) => defaults.has(name)));
  const all = completed(lines, variables(), namesIn, ({ name }) => `# ${name}=`);
  return all.map((line) => line.replace(/(?<=^# (\w+)=).*/, (value, name) => defaults.get(name) || value)).join('\n');
}
