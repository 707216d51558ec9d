import { markdownTable, number } from '../../tooling/markdown-table.ts';
import { median } from '../../tooling/statistics.ts';

/** What the file of a scenario has. */
export interface Found {
  readonly claims?: readonly Claim[];
  /** What the documents show beside the claims, by name. */
  readonly tables?: Readonly<Record<string, Table>>;
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

interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** @param rounds what was measured, once in each round */
export function atLeast(limit: number, what: string, rounds: readonly number[]): Claim {
  return { claim: `${what} ≥ ${limit}`, ...spread(rounds), holds: median(rounds) >= limit };
}

/** @param rounds what was measured, once in each round */
export function atMost(limit: number, what: string, rounds: readonly number[]): Claim {
  return { claim: `${what} ≤ ${limit}`, ...spread(rounds), holds: median(rounds) <= limit };
}

function spread(rounds: readonly number[]) {
  return { measured: median(rounds), least: Math.min(...rounds), most: Math.max(...rounds) };
}

export function claimTable(claims: readonly Claim[]): string {
  return markdownTable(
    ['what it must show', 'median', 'least', 'most', ''],
    claims.map(({ claim, measured, least, most, holds }) => [
      claim,
      ...[measured, least, most].map((value) => number(value)),
      holds ? 'yes' : 'NO',
    ]),
  );
}
