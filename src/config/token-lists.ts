import { checked, type Environment, type Problem, type Read } from './config-reader.ts';
import { tokens } from './config-rules.ts';
import { inFile } from './list-file.ts';

/** The accepted static tokens. */
export interface TokenLists {
  /** Those that permit everything. */
  readonly full: readonly string[];
  /** Those that permit reading only. */
  readonly reading: readonly string[];
}

const FILES = ['ACCESS_TOKENS_FILE', 'READ_TOKENS_FILE'] as const;

/** The variables that give static tokens. */
export const TOKENS_NAMES = ['ACCESS_TOKENS', 'ACCESS_TOKENS_FILE', 'READ_TOKENS', 'READ_TOKENS_FILE'] as const;

/** Where static tokens come from: those of these variables that are set. */
export type TokenSources = Readonly<Partial<Record<(typeof TOKENS_NAMES)[number], string>>>;

export function tokenSources(environment: Environment): TokenSources {
  return Object.fromEntries(TOKENS_NAMES.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
}

/** The paths of the files. */
export function tokensFiles(sources: TokenSources): string[] {
  return FILES.flatMap((name) => sources[name] ?? []);
}

/** Reads the files again, with all the checks of the start. @throws Error */
export function currentTokens(sources: TokenSources): TokenLists {
  return checked(sources, tokenLists);
}

/** Reads the tokens in the variables and in the files. */
export function tokenLists(read: Read, problem: Problem): TokenLists {
  const listed = (name: 'ACCESS_TOKENS' | 'READ_TOKENS') => [
    ...(read(name, tokens) ?? []),
    ...inFile(`${name}_FILE`, tokens, 'tokens', read, problem),
  ];
  const lists = { full: listed('ACCESS_TOKENS'), reading: listed('READ_TOKENS') };
  if (!new Set(lists.full).isDisjointFrom(new Set(lists.reading))) {
    problem('READ_TOKENS and READ_TOKENS_FILE must not have a token of ACCESS_TOKENS or ACCESS_TOKENS_FILE');
  }
  return lists;
}
