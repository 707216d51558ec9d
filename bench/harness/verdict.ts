import { number } from '../../tooling/markdown-table.ts';
import { median } from '../../tooling/statistics.ts';

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
