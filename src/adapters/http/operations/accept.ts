import { HttpError } from '../pipeline/errors.ts';

/**
 * Chooses among media types by the header `Accept` (RFC 9110 section 12.5.1); of those that the client likes best, the
 * first.
 *
 * @throws HttpError `not_acceptable` if it accepts none
 */
export function preferredType(accept: string | undefined, types: readonly [string, ...string[]]): string {
  if (accept === undefined || accept.trim() === '' || accept === '*/*') return types[0];
  const ranges = accept.split(',').map(mediaRange);
  const weights = types.map((type) => weightOf(type, ranges));
  const best = Math.max(...weights);
  if (best > 0) return types[weights.indexOf(best)] ?? types[0];
  throw new HttpError('not_acceptable', `Accept must allow ${types.join(' or ')}`);
}

interface MediaRange {
  readonly range: string;
  /** From 0, not acceptable, to 1. */
  readonly weight: number;
}

function mediaRange(text: string): MediaRange {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  return { range, weight: weight === undefined ? 1 : Number(weight) || 0 };
}

/** The most specific range that matches counts. */
function weightOf(type: string, ranges: readonly MediaRange[]): number {
  const [family] = type.split('/');
  for (const candidate of [type, `${family}/*`, '*/*']) {
    const match = ranges.find(({ range }) => range === candidate);
    if (match !== undefined) return match.weight;
  }
  return 0;
}
