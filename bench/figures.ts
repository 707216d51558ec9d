import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable, number } from '../tooling/markdown-table.ts';
import type { Claim } from './claims.ts';
import type { ContenderKey } from './contenders.ts';
import type { Summary } from './summary.ts';
import { claimTable } from './tables.ts';

/*
 * The figures in the documents come from the files that the benches write, and stand between two comments:
 *
 *     <!-- figures: bench/results.json -->
 *     ...
 *     <!-- end of figures -->
 *
 * What follows a # tells two sections of one file apart.
 */

const root = join(import.meta.dirname, '..');

/** Every document that has figures. */
export const documents = ['docs/import.md', 'docs/performance.md'] as const;

const SECTION = /(<!-- figures: (\S+) -->\n)[\s\S]*?(<!-- end of figures -->)/g;

/** A document with its figures taken anew from their files. */
export function withFigures(document: string): string {
  return document.replace(SECTION, (_, begin: string, file: string, end: string) => {
    const figures = writers[file as keyof typeof writers];
    if (figures === undefined) throw new Error(`nobody knows how to write the figures of ${file}`);
    return `${begin}\n${figures(JSON.parse(readFileSync(join(root, file.replace(/#.*/, '')), 'utf8')))}\n\n${end}`;
  });
}

/** Brings every document up to date. */
export function writeFigures(): void {
  for (const document of documents) {
    const path = join(root, document);
    writeFileSync(path, withFigures(readFileSync(path, 'utf8')));
  }
}

/** What the tables and the chart take from results.json. */
export interface BenchResults {
  readonly machine: { readonly cores: number };
  readonly settings: { readonly rounds: number; readonly seconds: number };
  readonly summary: readonly Summary[];
}

interface ImportResults {
  readonly settings: { readonly plants: number; readonly rounds: number };
  readonly summary: readonly { readonly way: string; readonly plantsPerSecond: number; readonly ofCopy: number }[];
  readonly longRun: {
    readonly plants: number;
    readonly plantsPerSecond: number;
    readonly residentMib: { readonly early: number; readonly late: number };
  };
}

/** What was to be shown, and what was. */
const claims = ({ claims }: { readonly claims: readonly Claim[] }) => claimTable(claims);

const writers = {
  'bench/results.json#claims': claims,
  'bench/growth.json': claims,
  'bench/reads.json': claims,
  'bench/changes.json': claims,
  'bench/soak.json': claims,
  'bench/overload.json': claims,
  'bench/results.json': ({ machine, settings, summary }: BenchResults) => {
    const counts = [...new Set(summary.map(({ connections }) => connections))];
    const many = counts.filter((count) => count >= 64);
    const row = (what: string, contender: ContenderKey, figure: keyof Summary, at: readonly number[]) => [
      what,
      at.join(' / '),
      at.map((count) => ratio(summary, contender, figure, count)).join(' / '),
    ];
    const rows = [
      row('creates per second, Fastify + pg with an INSERT per request', 'fastify', 'oursByThroughput', many),
      row('creates per second, Plant Store, batches of one', 'single', 'oursByThroughput', many),
      row('p99, Fastify + pg', 'fastify', 'oursByP99', many),
      row('p50, Fastify + pg', 'fastify', 'oursByP50', counts.slice(0, 1)),
    ];
    return [
      `Of ${settings.rounds} rounds of ${settings.seconds} s each, on ${machine.cores} cores shared with Postgres and the load, medians of the`,
      'ratios within a round:',
      '',
      markdownTable(['', 'connections', 'Plant Store ÷ it'], rows),
    ].join('\n');
  },
  'bench/import.json': ({ settings, summary, longRun }: ImportResults) => {
    const names: Record<string, string> = { copy: '`COPY` of CSV', csv: 'import of CSV', ndjson: 'import of NDJSON' };
    const rows = summary.map(({ way, plantsPerSecond, ofCopy }) => [
      names[way] ?? way,
      number(plantsPerSecond, 0),
      number(ofCopy),
    ]);
    const { early, late } = longRun.residentMib;
    return [
      markdownTable([`${number(settings.plants, 0)} plants, ${settings.rounds} rounds`, 'plants/s', '÷ `COPY`'], rows),
      '',
      `On a file of ${number(longRun.plants, 0)} plants it took ${number(early, 0)} MiB of resident memory in the second tenth of the time and`,
      `${number(late, 0)} MiB in the last.`,
    ].join('\n');
  },
};

function ratio(
  summary: readonly Summary[],
  contender: ContenderKey,
  figure: keyof Summary,
  connections: number,
): string {
  const found = summary.find((row) => row.contender === contender && row.connections === connections);
  return Number(found?.[figure]).toPrecision(2);
}
