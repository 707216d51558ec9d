import { wrongNames } from './names.ts';
import { isVariable, type Table, type Variable } from './variables.ts';

/** The values of a table's variables. */
export type Values<Entry> =
  Entry extends Variable<infer Value> ? Value : { readonly [Key in keyof Entry]: Values<Entry[Key]> };

export interface Reader {
  /** Reads these variables, once each. An invalid one has its fallback, and `checked` then throws. */
  read<Entries extends Table>(table: Entries): Values<Entries>;
  /** Whether the variable is set, perhaps to an invalid value. */
  isSet(variable: Variable<unknown>): boolean;
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

  function readVariable({ name, rule, fallback }: Variable<unknown>): unknown {
    const text = environment[name];
    if (!text) return fallback;
    if (KEPT_BY_DOCKER.test(text)) {
      problems.push(`${name} must not have quotes around it or a comment behind it, which docker run --env-file keeps`);
      return fallback;
    }
    let why = '';
    try {
      const value = rule.parse(text);
      if (value !== undefined) return value;
    } catch (error) {
      why = ` (${(error as Error).message})`;
    }
    problems.push(`${name} must be ${rule.mustBe}${why}`);
    return fallback;
  }
  function readTable(table: Table): object {
    const values = ([key, entry]: [string, Variable<unknown> | Table]) =>
      [key, isVariable(entry) ? readVariable(entry) : readTable(entry)] as const;
    return Object.fromEntries(Object.entries(table).map(values));
  }

  const built = build({
    read: <Entries extends Table>(table: Entries) => readTable(table) as Values<Entries>,
    isSet: ({ name }) => Boolean(environment[name]),
    problem: (line) => void problems.push(line),
  });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return built;
}
