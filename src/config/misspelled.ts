import { closestMatch } from 'leven';
import { NAMES } from './variables.ts';

/** Shorter names are too often near each other by chance. */
const MIN_LETTERS = 8;

/** Letters that were inserted, left out or replaced. */
const MAX_EDITS = 2;

/** Variables of other programs, here libpq, that are near a variable of ours by chance. */
const OF_OTHERS = ['PGCONNECT_TIMEOUT'];

/** Variables of earlier versions, and what to do instead. */
const REMOVED = new Map([
  ['PROCESSES', 'start several instances with REUSE_PORT=on instead, as docs/operations.md says'],
]);

/**
 * Finds the names that are set and nearly those of our variables, and variables of earlier versions: a mistyped
 * DATABASE_URL would otherwise silently start the service on an embedded database.
 *
 * @returns a line for each, saying what to do
 */
export function misspelled(environment: Readonly<Record<string, string | undefined>>): string[] {
  const unknown = Object.entries(environment).flatMap(([name, value]) =>
    value && !NAMES.includes(name) && !OF_OTHERS.includes(name) ? name : [],
  );
  return unknown.flatMap((name) => {
    const instead = REMOVED.get(name);
    if (instead !== undefined) return `${name} is no longer a variable of Plant Store: ${instead}`;
    const near = nearest(name.toUpperCase());
    return near === undefined
      ? []
      : `${name} is not a variable of Plant Store: did you mean ${near}? If another program needs it, unset it here`;
  });
}

/** The variable of ours whose name differs only by underscores, an S at the end or two swapped neighbors, or by little. */
function nearest(name: string): string | undefined {
  const swapped = Array.from(name, (letter, n) => name.slice(0, n) + name.charAt(n + 1) + letter + name.slice(n + 2));
  const known = NAMES.find((known) => plain(known) === plain(name) || swapped.includes(known));
  if (known !== undefined || name.length < MIN_LETTERS) return known;
  return closestMatch(name, NAMES, { maxDistance: MAX_EDITS });
}

const plain = (name: string) => name.replaceAll('_', '').replace(/S$/, '');
