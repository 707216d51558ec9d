import type { Check } from './rules.ts';
import { type Table, VARIABLES, type VariableValues } from './variables.ts';

/** Matches quotes around a value, or a comment behind it, which .env may have. */
const KEPT_BY_DOCKER = /^\s*(["'`]).*\1\s*$|\s#/s;

/**
 * Reads variables of an environment, whose empty ones count as not set, and builds a configuration from them. An invalid one
 * has its default until the reading fails.
 *
 * @throws Error with a line for each variable that is wrong, naming it and what it must be, without its value, which may be
 * a secret, and for each whose name is wrong
 */
export function readVariables<Entries extends Table, Result>(
  table: Entries,
  environment: NodeJS.ProcessEnv,
  build: (values: VariableValues<Entries>, check: Check) => Result,
): Result {
  const problems = wrongNames(environment);

  function readVariable([name, [rule, fallback]]: [string, Table[string]]): [string, unknown] {
    const text = environment[name];
    if (text && KEPT_BY_DOCKER.test(text)) {
      problems.push(
        `${name} must not have quotes around it or a comment behind it, since docker run --env-file keeps them`,
      );
    } else if (text) {
      let why = '';
      try {
        const value = rule.parse(text);
        if (value !== undefined) return [name, value];
      } catch (error) {
        why = ` (${(error as Error).message})`;
      }
      problems.push(`${name} must be ${rule.mustBe}${why}`);
    }
    return [name, fallback === undefined ? undefined : rule.parse(fallback)];
  }

  const values = Object.fromEntries(Object.entries(table).map(readVariable)) as VariableValues<Entries>;
  const result = build(values, {
    isSet: (name) => Boolean(environment[name]),
    problem: (line) => void problems.push(line),
  });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return result;
}

/** All variables of Plant Store, with those that only the import reads (cli/remote-service.ts). */
const OUR_NAMES = [...Object.keys(VARIABLES), 'PLANT_STORE_URL', 'PLANT_STORE_TOKEN'];

/** If one of these were misspelt, the service would open another store or accept other tokens. */
const DECISIVE_NAMES = OUR_NAMES.filter((name) => /DATABASE_URL|DATA_DIR|TOKEN|STORE_URL/.test(name));

/** Variables that only version 1.0.0 had. */
const FORMER = ['CONNECT_TIMEOUT', 'IDLE_TIMEOUT', 'BATCH_ROWS', 'MAX_REQUEST_BYTES'];

/**
 * Finds the names that are set and are nearly those of variables that decide on the store or on its tokens, and names of
 * variables that are gone. All others belong to other programs.
 *
 * @returns a line for each, saying what to do
 */
function wrongNames(environment: NodeJS.ProcessEnv): string[] {
  const names = Object.keys(environment).filter((name) => environment[name] && !OUR_NAMES.includes(name));
  return names.flatMap((name) => {
    if (FORMER.includes(name)) return `${name} is no longer a variable of Plant Store: unset it (docs/upgrading.md)`;
    const match = DECISIVE_NAMES.find((ours) => isNear(plain(name), plain(ours)));
    if (match === undefined) return [];
    return `${name} is not a variable of Plant Store: did you mean ${match}? If another program needs it, unset it here`;
  });
}

const plain = (name: string) => name.toUpperCase().replaceAll('_', '');

/** Whether at most one letter was left out, added or replaced, or two neighbours were swapped. */
function isNear(name: string, ours: string): boolean {
  let start = 0;
  while (start < ours.length && name[start] === ours[start]) start++;
  const [end, ourEnd] = [name.slice(start), ours.slice(start)];
  const withSwap = ourEnd.charAt(1) + ourEnd.charAt(0) + ourEnd.slice(2);
  return [ourEnd, ourEnd.slice(1), withSwap].includes(end) || [ourEnd, ourEnd.slice(1)].includes(end.slice(1));
}
