import { closestMatch } from 'leven';
import { NAMES } from './variables.ts';

/** Shorter names are too often near each other by chance. */
const MIN_LETTERS = 8;

/** Letters that were inserted, left out or replaced. */
const MAX_EDITS = 2;

/** Ours, with those that only the import reads (commands/remote-service.ts). */
const OURS = [...NAMES, 'PLANT_STORE_URL', 'PLANT_STORE_TOKEN'];

/** The same, and those of other programs (libpq, curl) that are near one of ours. */
const KNOWN = [...OURS, 'PGCONNECT_TIMEOUT', 'HTTP_PROXY', 'http_proxy'];

/** A variable of earlier versions. */
const REMOVED = 'PROCESSES';

/** Without one of these, the service would open another store or accept other tokens. */
const DECISIVE = /DATABASE_URL|DATA_DIR|TOKEN|STORE_URL/;

/**
 * Finds the names that are set and nearly those of our variables, and variables of earlier versions.
 *
 * @returns a line for each, saying what to do: `problems` must stop the start, since a mistyped DATABASE_URL would
 * silently start the service on an embedded database; `warnings` must not, since the environment belongs to all programs
 */
export function misspelled(environment: NodeJS.ProcessEnv) {
  const problems: string[] = [];
  const warnings: string[] = [];
  for (const name of Object.keys(environment).filter((name) => environment[name] && !KNOWN.includes(name))) {
    if (name === REMOVED) {
      const instead = 'start several instances with REUSE_PORT=on instead, as docs/operations.md says';
      problems.push(`${name} is no longer a variable of Plant Store: ${instead}`);
    }
    const meant = nearest(name.toUpperCase());
    if (meant === undefined) continue;
    const line = `${name} is not a variable of Plant Store`;
    if (DECISIVE.test(meant))
      problems.push(`${line}: did you mean ${meant}? If another program needs it, unset it here`);
    // Containers often have the variables of proxies in both cases.
    else if (environment[name] !== environment[meant])
      warnings.push(`${line} and has no effect: did you mean ${meant}?`);
  }
  return { problems, warnings };
}

/** The variable of ours whose name differs only by underscores, an S at the end or two swapped neighbors, or by little. */
function nearest(name: string): string | undefined {
  const swapped = Array.from(name, (letter, n) => name.slice(0, n) + name.charAt(n + 1) + letter + name.slice(n + 2));
  const known = OURS.find((known) => plain(known) === plain(name) || swapped.includes(known));
  if (known !== undefined || name.length < MIN_LETTERS) return known;
  return closestMatch(name, OURS, { maxDistance: MAX_EDITS });
}

const plain = (name: string) => name.replaceAll('_', '').replace(/S$/, '');
