import type { Environment, Variables } from './config-reader.ts';
import { tokens } from './config-rules.ts';
import { inFile } from './list-file.ts';

/** The accepted static tokens. */
export interface TokenLists {
  /** Those that permit everything. */
  readonly full: readonly string[];
  /** Those that permit reading only. */
  readonly reading: readonly string[];
}

/** The variables that give static tokens. */
export const TOKENS_NAMES = ['ACCESS_TOKENS', 'ACCESS_TOKENS_FILE', 'READ_TOKENS', 'READ_TOKENS_FILE'] as const;

/** Where static tokens come from: those of these variables that are set. */
type TokenSources = Readonly<Partial<Record<(typeof TOKENS_NAMES)[number], string>>>;

export function tokenSources(environment: Environment): TokenSources {
  return Object.fromEntries(TOKENS_NAMES.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
}

/** Reads the tokens in the variables and in the files. */
export function tokenLists(variables: Variables): TokenLists {
  const listed = (name: 'ACCESS_TOKENS' | 'READ_TOKENS') => [
    ...(variables.read(name, tokens) ?? []),
    ...inFile(`${name}_FILE`, tokens, 'tokens', variables),
  ];
  const lists = { full: listed('ACCESS_TOKENS'), reading: listed('READ_TOKENS') };
  if (!new Set(lists.full).isDisjointFrom(new Set(lists.reading))) {
    variables.problem('READ_TOKENS and READ_TOKENS_FILE must not have a token of ACCESS_TOKENS or ACCESS_TOKENS_FILE');
  }
  return lists;
}
