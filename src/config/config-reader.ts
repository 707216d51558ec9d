import { closestMatch } from 'leven';
import type { Rule } from './config-rules.ts';
import { VARIABLES, type Variable } from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables that a configuration is built from; an empty one counts as not set. */
export interface Variables {
  /** Whether one is set, perhaps to something that is wrong. */
  given(name: Variable): boolean;
  /** The value of one; undefined if it is not set, or breaks its rule, of which `checked` then throws. */
  read<T>(name: Variable, rule: Rule<T>): T | undefined;
  /** Lets `checked` throw for this reason, too. */
  problem(line: string): void;
}

/**
 * Builds a configuration from an environment.
 *
 * @throws Error with a line for each variable that is wrong, naming it and what it must be, and for each whose name
 * is nearly that of one of ours
 */
export function checked<T>(environment: Environment, build: (variables: Variables) => T): T {
  const problems = [...removed(environment), ...misspelled(environment)];
  const built = build({
    given: (name) => Boolean(environment[name]),
    read(name, rule) {
      const value = environment[name];
      if (!value) return undefined;
      const parsed = rule.parse(value);
      const repeated = rule.isPublic ? `, not ${JSON.stringify(value)}` : '';
      if (parsed === undefined) problems.push(`${name} must be ${rule.mustBe}${repeated}`);
      return parsed;
    },
    problem: (line) => void problems.push(line),
  });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return built;
}

/** Variables of earlier versions, and what to do instead. */
const REMOVED = {
  PROCESSES: 'start several instances with REUSE_PORT=on instead, as docs/operations.md says',
};

function removed(environment: Environment): string[] {
  return Object.entries(REMOVED).flatMap(([name, instead]) =>
    environment[name] ? `${name} is no longer a variable of Plant Store: ${instead}` : [],
  );
}

/** Shorter names are too often near each other by chance. */
const LEAST_LETTERS = 8;

/** Letters that were inserted, left out or replaced; two that changed places count twice. */
const MOST_EDITS = 2;

/** Variables of other programs, here libpq, that are near one of ours by chance. */
const OF_OTHERS = ['PGCONNECT_TIMEOUT'];

/** A mistyped DATABASE_URL would otherwise silently start the service on an embedded database. */
function misspelled(environment: Environment): string[] {
  const known: readonly string[] = [...VARIABLES, ...OF_OTHERS];
  const unknown = Object.keys(environment).filter(
    (name) => environment[name] && name.length >= LEAST_LETTERS && !known.includes(name),
  );
  return unknown.flatMap((name) => {
    const near = closestMatch(name.toUpperCase(), VARIABLES, { maxDistance: MOST_EDITS });
    return near === undefined
      ? []
      : `${name} is not a variable of Plant Store: did you mean ${near}? If another program needs it, unset it here`;
  });
}
