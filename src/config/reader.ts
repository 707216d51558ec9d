import { type Table, VARIABLES, type Values } from './variables.ts';

export interface Reader {
  /** Reads these variables, once each. An invalid one has its default, and `checked` then throws. */
  read<Entries extends Table>(table: Entries): Values<Entries>;
  /** Whether the variable is set, perhaps to an invalid value. */
  isSet(name: string): boolean;
  /** Lets `checked` throw for this reason, too. */
  problem(line: string): void;
}

/** What .env may have around a value. */
const KEPT_BY_DOCKER = /^\s*(["'`]).*\1\s*$|\s#/s;

/**
 * Builds a configuration from an environment, whose empty variables count as not set.
 *
 * @throws Error with a line for each variable that is wrong, naming it and what it must be, without its value, which may be
 * a secret, and for each whose name is wrong
 */
export function checked<T>(environment: NodeJS.ProcessEnv, build: (reader: Reader) => T): T {
  const problems = wrongNames(environment);

  function readVariable(name: string, [rule, fallback]: Table[string]): unknown {
    const text = environment[name];
    if (text && KEPT_BY_DOCKER.test(text)) {
      problems.push(`${name} must not have quotes around it or a comment behind it, which docker run --env-file keeps`);
    } else if (text) {
      let why = '';
      try {
        const value = rule.parse(text);
        if (value !== undefined) return value;
      } catch (error) {
        why = ` (${(error as Error).message})`;
      }
      problems.push(`${name} must be ${rule.mustBe}${why}`);
    }
    return fallback === undefined ? undefined : rule.parse(fallback);
  }

  const built = build({
    read: <Entries extends Table>(table: Entries) =>
      Object.fromEntries(
        Object.entries(table).map(([name, variable]) => [name, readVariable(name, variable)]),
      ) as Values<Entries>,
    isSet: (name) => Boolean(environment[name]),
    problem: (line) => void problems.push(line),
  });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return built;
}

/** Ours, with those that only the import reads (cli/remote-service.ts). */
const OURS = [...Object.keys(VARIABLES), 'PLANT_STORE_URL', 'PLANT_STORE_TOKEN'];

/** Without one of these, the service would open another store or accept other tokens. */
const DECISIVE = OURS.filter((name) => /DATABASE_URL|DATA_DIR|TOKEN|STORE_URL/.test(name));

/** Variables of 1.0.0 that are gone, and what to do without them. */
const GONE = new Map([
  ['CONNECT_TIMEOUT', 'it is always 2 s, and STORE_TIMEOUT bounds what a request waits in all'],
  ['IDLE_TIMEOUT', 'it is always 10 s'],
  ['BATCH_ROWS', 'it is always 256'],
  ['MAX_REQUEST_BYTES', 'it is always 64 MiB, and BODY_LIMIT and MAX_REQUESTS can be lower'],
]);

/**
 * Finds the names that are set and are nearly those of variables that decide on the store or on its tokens, and names of
 * variables that are gone. All others belong to other programs.
 *
 * @returns a line for each, saying what to do
 */
function wrongNames(environment: NodeJS.ProcessEnv): string[] {
  const names = Object.keys(environment).filter((name) => environment[name] && !OURS.includes(name));
  return names.flatMap((name) => {
    const now = GONE.get(name);
    if (now !== undefined) return `${name} is no longer a variable of Plant Store: unset it, since ${now}`;
    const meant = DECISIVE.find((ours) => isNear(plain(name), plain(ours)));
    if (meant === undefined) return [];
    return `${name} is not a variable of Plant Store: did you mean ${meant}? If another program needs it, unset it here`;
  });
}

const plain = (name: string) => name.toUpperCase().replaceAll('_', '');

/** Whether at most one letter was left out, added or replaced, or two neighbours were swapped. */
function isNear(name: string, ours: string): boolean {
  let start = 0;
  while (start < ours.length && name[start] === ours[start]) start++;
  const [end, ourEnd] = [name.slice(start), ours.slice(start)];
  const swapped = ourEnd.charAt(1) + ourEnd.charAt(0) + ourEnd.slice(2);
  return [ourEnd, ourEnd.slice(1), swapped].includes(end) || [ourEnd, ourEnd.slice(1)].includes(end.slice(1));
}
