import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from '../../tooling/markdown-table.ts';
import { claimTable, type Found } from './claims.ts';

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

/** Every document that has figures. */
export const documents = ['docs/import.md', 'docs/operations.md', 'docs/performance.md', 'bench/targets.md'] as const;

const SECTION = /(<!-- figures: (\S+?)(?:#(\S+))? -->\n)[\s\S]*?(<!-- end of figures -->)/g;

/** A document with its figures taken anew from their files. */
export function withFigures(document: string): string {
  return document.replace(
    SECTION,
    (_, begin: string, file: string, table: string | undefined, end: string) =>
      `${begin}\n${figures(join(ROOT, file), table)}\n\n${end}`,
  );
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
