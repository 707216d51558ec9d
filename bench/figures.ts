import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable, number } from '../tooling/markdown-table.ts';
import type { Claim } from './claims.ts';
import { type ContenderKey, contenders } from './contenders.ts';
import type { Figures } from './measure.ts';
import { medianOf, medianRatio, type Place, type Run } from './runs.ts';
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
export const documents = ['docs/import.md', 'docs/operations.md', 'docs/performance.md', 'bench/targets.md'] as const;

const SECTION = /(<!-- figures: (\S+) -->\n)[\s\S]*?(<!-- end of figures -->)/g;

/** A bench is committed before it has measured that commit. */
const NOT_MEASURED = 'Not measured yet.';

/** A document with its figures taken anew from their files. */
export function withFigures(document: string): string {
  return document.replace(SECTION, (_, begin: string, file: string, end: string) => {
    const figures = writers[file as keyof typeof writers];
    if (figures === undefined) throw new Error(`nobody knows how to write the figures of ${file}`);
    const path = join(root, file.replace(/#.*/, ''));
    const text = existsSync(path) ? figures(JSON.parse(readFileSync(path, 'utf8'))) : NOT_MEASURED;
    return `${begin}\n${text}\n\n${end}`;
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
  readonly machine: { readonly cpu: string; readonly cores: number };
  readonly settings: { readonly rounds: number; readonly seconds: number };
  readonly summary: readonly Summary[];
  readonly runs: readonly Run[];
}

interface GrowthResults {
  readonly settings: { readonly plants: number };
  /** Medians on an empty table and on a big one. */
  readonly summary: Readonly<
    Record<'requestsPerSecond' | 'postgresCpu', { readonly big: number; readonly ratio: number }>
  >;
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
const claims = ({ claims }: { readonly claims?: readonly Claim[] }) =>
  claims === undefined ? NOT_MEASURED : claimTable(claims);

const writers = {
  'bench/results.json#claims': claims,
  'bench/growth.json': claims,
  'bench/reads.json': claims,
  'bench/search.json': claims,
  'bench/import.json#claims': claims,
  'bench/changes.json': claims,
  'bench/webhooks.json': claims,
  'bench/soak.json': claims,
  'bench/overload.json': claims,
  'bench/results.json': ({ machine, settings, runs }: BenchResults) => {
    const counts = [...new Set(runs.map(({ connections }) => connections))];
    const many = counts.filter((count) => count >= 64);
    const row = (what: string, figure: keyof Figures, other: ContenderKey, at: readonly number[] = many) => [
      what,
      at.join(' / '),
      at.map((count) => ratio(runs, figure, ['ours', count], [other, count])).join(' / '),
    ];
    const rows = [
      row('CPU of service and Postgres per create, Fastify + pg with an INSERT per request', 'cpu', 'fastify'),
      row('the same, Go net/http + pgx with an INSERT per request', 'cpu', 'go'),
      row('creates per second, Fastify + pg', 'requestsPerSecond', 'fastify'),
      row('creates per second, Go net/http + pgx', 'requestsPerSecond', 'go'),
      row('creates per second, Plant Store, batches of one', 'requestsPerSecond', 'single'),
      row('p99, Fastify + pg', 'p99', 'fastify'),
      row('p50, Fastify + pg', 'p50', 'fastify', counts.slice(0, 1)),
      row('p99, Fastify + pg', 'p99', 'fastify', counts.slice(0, 1)),
    ];
    return [
      `Of ${settings.rounds} rounds of ${settings.seconds} s each, on ${machine.cores} cores shared with Postgres and the load, medians of the`,
      'ratios within a round:',
      '',
      markdownTable(['', 'connections', 'Plant Store ÷ it'], rows),
    ].join('\n');
  },
  'bench/results.json#cores': ({ machine, runs }: BenchResults) => {
    const CONNECTIONS = 64;
    const keys = (['ours', 'fastify', 'go'] as const).filter((key) => runs.some(({ contender }) => contender === key));
    const perSecond = (figure: keyof Figures, key: ContenderKey) => 1e6 / medianOf(runs, figure, [key, CONNECTIONS]);
    const row = (what: string, figure: (key: ContenderKey) => number, digits = 0) => [
      what,
      ...keys.map((key) => number(figure(key), digits)),
    ];
    return [
      `On one core of this machine (${machine.cpu}), from CPU time per create at ${CONNECTIONS} connections:`,
      '',
      markdownTable(
        ['by calculation', ...keys.map((key) => contenders[key].title)],
        [
          row('CPU of the service per create, µs', (key) => medianOf(runs, 'serverCpu', [key, CONNECTIONS]), 1),
          row('CPU of Postgres per create, µs', (key) => medianOf(runs, 'postgresCpu', [key, CONNECTIONS]), 1),
          row('creates/s of each core, Postgres included', (key) => perSecond('cpu', key)),
          row('creates/s of a core that only the service uses', (key) => perSecond('serverCpu', key)),
          row('creates/s of a core that only Postgres uses', (key) => perSecond('postgresCpu', key)),
          row(
            'cores of the service that fill one of Postgres',
            (key) => perSecond('postgresCpu', key) / perSecond('serverCpu', key),
            1,
          ),
        ],
      ),
    ].join('\n');
  },
  'bench/results.json#capacity': ({ machine, runs }: BenchResults) => {
    const counts = [64, 512];
    const row = (what: string, figure: keyof Figures) => [
      what,
      ...counts.map((count) => number(medianOf(runs, figure, ['ours', count]), 0)),
    ];
    return [
      `On ${machine.cores} cores, shared by the service, Postgres and the load:`,
      '',
      markdownTable(
        ['one instance', ...counts.map((count) => `${count} connections`)],
        [
          row('plants committed per second', 'requestsPerSecond'),
          row('its own CPU per plant, µs', 'serverCpu'),
          row("Postgres's CPU per plant, µs", 'postgresCpu'),
          row('memory, MiB', 'memory'),
        ],
      ),
    ].join('\n');
  },
  'bench/growth.json#capacity': ({ settings, summary: { requestsPerSecond, postgresCpu } }: GrowthResults) =>
    [
      `On a table of ${number(settings.plants, 0)} plants the throughput is ${number(requestsPerSecond.ratio)} of that on an empty one, and Postgres's CPU per`,
      `plant ${number(postgresCpu.big, 0)} µs, ${number(postgresCpu.ratio)} of that on an empty one, with [settings](postgres.md#settings-by-size-of-the-table) for that size.`,
    ].join('\n'),
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

function ratio(runs: readonly Run[], figure: keyof Figures, over: Place, under: Place): string {
  const found = medianRatio(runs, figure, over, under);
  // Not every machine can start every contender.
  return Number.isNaN(found) ? '–' : found.toPrecision(2);
}
