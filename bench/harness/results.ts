import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { markdownTable, number } from '../../tooling/markdown-table.ts';
import type { BenchDatabase } from '../../tooling/session-database.ts';
import { median } from '../../tooling/statistics.ts';

/*
 * The figures in the documents come from the files that the benches write, and stand between two comments:
 *
 *     <!-- figures: bench/creates.json#64 -->
 *     ...
 *     <!-- end of figures -->
 *
 * What follows a # is the name of a table; without one, the claims are meant.
 */

const ROOT = join(import.meta.dirname, '../..');

/** What the file of a scenario has. */
export interface Found {
  readonly claims?: readonly Claim[];
  /** What the documents show beside the claims, by name. */
  readonly tables?: Readonly<Record<string, { readonly head: string[]; readonly rows: string[][] }>>;
}

/** Something that is to be shown. */
export interface Claim {
  readonly claim: string;
  /** The median over the rounds, and the extremes, since a noisy machine can be told by them. */
  readonly measured: number;
  readonly least: number;
  readonly most: number;
  readonly holds: boolean;
}

/** @param rounds what was measured, once in each round */
export function atLeast(limit: number, what: string, rounds: readonly number[]): Claim {
  return claimOf(`${what} ≥ ${limit}`, rounds, median(rounds) >= limit);
}

/** @param rounds what was measured, once in each round */
export function atMost(limit: number, what: string, rounds: readonly number[]): Claim {
  return claimOf(`${what} ≤ ${limit}`, rounds, median(rounds) <= limit);
}

const claimOf = (claim: string, rounds: readonly number[], holds: boolean): Claim => ({
  ...{ claim, measured: median(rounds), least: Math.min(...rounds), most: Math.max(...rounds), holds },
});

export function claimTable(claims: readonly Claim[]): string {
  return markdownTable(
    ['what it must show', 'median', 'least', 'most', ''],
    claims.map(({ claim, measured, least, most, holds }) => {
      return [claim, number(measured), number(least), number(most), holds ? 'yes' : 'NO'];
    }),
  );
}

/** Above it nothing is decided. */
const MAX_SPREAD = 0.05;

/**
 * Judges ratios of new to old, of which less is better.
 *
 * @param control ratios of the old code to itself; their spread is the median distance from 1
 * @returns the cells of a table, and whether the median is at most the target and the spread of the control
 */
export function verdict(ratios: readonly number[], control: readonly number[], target: number | undefined) {
  const spread = median(control.map((ratio) => Math.abs(ratio - 1)));
  const figures = [median(ratios), Math.min(...ratios), Math.max(...ratios), median(control), spread];
  const cells = figures.map((figure) => number(figure));
  if (target === undefined) return { cells: [...cells, '', ''], holds: true };
  const holds = spread <= MAX_SPREAD && median(ratios) <= target + spread;
  const word = holds ? 'yes' : spread <= MAX_SPREAD ? 'NO' : 'too noisy: repeat';
  return { cells: [...cells, number(target), word], holds };
}

/** Every document that has figures. */
export const documents = ['docs/import.md', 'docs/operations.md', 'docs/performance.md', 'bench/targets.md'] as const;

const SECTION = /(<!-- figures: (\S+?)(?:#(\S+))? -->\n)[\s\S]*?(<!-- end of figures -->)/g;

/** A document with its figures taken anew from their files. */
export function withFigures(document: string): string {
  const section = (_: string, begin: string, file: string, table: string | undefined, end: string) =>
    `${begin}\n${figures(join(ROOT, file), table)}\n\n${end}`;
  return document.replace(SECTION, section);
}

function figures(path: string, name: string | undefined): string {
  // A bench is committed before it has measured that commit.
  if (!existsSync(path)) return 'Not measured yet.';
  const { commit, claims = [], tables = {} }: Found & { commit: string } = JSON.parse(readFileSync(path, 'utf8'));
  const { head, rows } = tables[name ?? ''] ?? { head: [], rows: [] };
  return `Measured at ${commit}:\n\n${name === undefined ? claimTable(claims) : markdownTable(head, rows)}`;
}

/** Brings every document up to date. */
export function writeFigures(): void {
  for (const document of documents) {
    const path = join(ROOT, document);
    writeFileSync(path, withFigures(readFileSync(path, 'utf8')));
  }
}

/**
 * Writes what a scenario has found, with where and with what, to bench/NAME.json, with four significant digits and one
 * line for each innermost object, and takes it over into the documents. Refuses what no commit has produced.
 */
export async function publish(name: string, database: BenchDatabase, found: object): Promise<void> {
  const changed = changedFiles();
  if (changed.length > 0) {
    console.error(`bench/${name}.json is not written, since these files differ from the commit: ${changed.join(', ')}`);
    process.exitCode = 1;
    return;
  }
  const rounded = (_key: string, member: unknown) =>
    typeof member === 'number' && !Number.isInteger(member) ? Number(member.toPrecision(4)) : member;
  const text = JSON.stringify({ ...(await circumstances(database)), ...found }, rounded, 2);
  const lines = text.replace(/[{[][^{}[\]]*[}\]]/g, (innermost) => innermost.replace(/\s*\n\s*/g, ' '));
  writeFileSync(join(ROOT, `bench/${name}.json`), `${lines}\n`);
  console.log(`wrote bench/${name}.json`);
  writeFigures();
}

async function circumstances({ query }: BenchDatabase) {
  const settings = await query(
    'select name, current_setting(name) as value from pg_settings where name = any($1) order by name',
    [['server_version', 'fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size']],
  );
  const version = (name: string) =>
    JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version;
  const packages = ['fastify', 'koa', 'kysely', 'pg', 'postgres'];
  return {
    date: new Date().toISOString(),
    commit: git('describe', '--always').trim(),
    machine: {
      cpu: cpus()[0]?.model,
      cores: availableParallelism(),
      memoryGib: Math.round(totalmem() / 1024 ** 3),
      system: `${type()} ${release()}`,
    },
    postgres: Object.fromEntries(settings.map(({ name, value }) => [name, value])),
    versions: { node: process.versions.node, ...Object.fromEntries(packages.map((name) => [name, version(name)])) },
  };
}

/** The files that differ from the commit, without documents and results. @throws Error outside of a checkout */
function changedFiles(): string[] {
  const status = git('status', '--porcelain', '--', '.', ':!*.md', ':!bench/*.json');
  return [...status.matchAll(/^.. (.+)$/gm)].map(([, file = '']) => file);
}

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
