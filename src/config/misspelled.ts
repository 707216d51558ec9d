import { closestMatch } from 'leven';
import { NAMES } from './variables.ts';

/** Shorter names are too often near each other by chance. */
const MIN_LETTERS = 8;

/** Letters that were inserted, left out or replaced. */
const MAX_EDITS = 2;

/** Variables of other programs, here libpq, that are near a variable of ours by chance. */
const OF_OTHERS = ['PGCONNECT_TIMEOUT'];

/** Variables of earlier versions, and what to do instead. */
const REMOVED: Readonly<Record<string, string>> = {
  PROCESSES: 'start several instances with REUSE_PORT=on instead, as docs/operations.md says',
};

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
    if (REMOVED[name] !== undefined) return `${name} is no longer a variable of Plant Store: ${REMOVED[name]}`;
    const near = nearest(name.toUpperCase());
    return near === undefined
      ? []
      : `${name} is not a variable of Plant Store: did you mean ${near}? If another program needs it, unset it here`;
  });
}

function nearest(name: string): string | undefined {
  return (
    NAMES.find((known) => hasSameLetters(name, known)) ??
    (name.length < MIN_LETTERS ? undefined : closestMatch(name, NAMES, { maxDistance: MAX_EDITS }))
  );
}

/** Whether two names differ only by underscores, by an S at the end, or by two neighbors that changed places. */
function hasSameLetters(name: string, known: string): boolean {
  const plain = (text: string) => text.replaceAll('_', '').replace(/S$/, '');
  const swapped = Array.from(name, (_, n) => name.replace(new RegExp(`^(.{${n}})(.)(.)`), '$1$3$2'));
  return plain(name) === plain(known) || swapped.includes(known);
}
