import type { Rule } from './config-rules.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that is wrong with the environment, one line per variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** A value that breaks its rule is noted and read as undefined; `checked` throws before anyone can see that. */
export interface Read {
  <T>(name: string, rule: Rule<T>, fallback: string): T;
  <T>(name: string, rule: Rule<T>): T | undefined;
}

export type Problem = (line: string) => void;

/**
 * Builds a configuration from an environment; a variable that is empty counts as not set.
 *
 * @throws ConfigError with a line for each variable that is wrong, naming it and what it must be
 */
export function checked<T>(environment: Environment, build: (read: Read, problem: Problem) => T): T {
  const problems: string[] = [];
  const read = <V>(name: string, rule: Rule<V>, fallback?: string) => {
    const value = environment[name] || fallback;
    if (value === undefined) return undefined;
    const parsed = rule.parse(value);
    if (parsed === undefined) problems.push(`${name} must be ${rule.mustBe}`);
    return parsed;
  };
  const built = build(read as Read, (line) => problems.push(line));
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return built;
}
