import { median } from '../tooling/statistics.ts';
import type { ContenderKey } from './contenders.ts';
import type { Figures } from './measure.ts';

/** One turn of one contender. */
export interface Run extends Figures {
  readonly round: number;
  readonly connections: number;
  readonly contender: ContenderKey;
}

/** A contender at a number of connections. */
export type Place = readonly [contender: ContenderKey, connections: number];

/** The median over the rounds. */
export function medianOf(runs: readonly Run[], figure: keyof Figures, place: Place): number {
  return median(byRound(runs, figure, place));
}

/** The median of the ratios made within each round, which what else the machine did has touched alike. */
export function medianRatio(runs: readonly Run[], figure: keyof Figures, over: Place, under: Place): number {
  return median(ratios(runs, figure, over, under));
}

/** The ratio in each round. */
export function ratios(runs: readonly Run[], figure: keyof Figures, over: Place, under: Place): number[] {
  const divisors = byRound(runs, figure, under);
  return byRound(runs, figure, over).map((value, round) => value / (divisors[round] ?? Number.NaN));
}

function byRound(runs: readonly Run[], figure: keyof Figures, [contender, connections]: Place): number[] {
  return runs.filter((run) => run.contender === contender && run.connections === connections).map((run) => run[figure]);
}
