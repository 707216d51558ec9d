import { checked, type Environment, type Reader, type Values } from './config-reader.ts';
import * as rules from './config-rules.ts';
import { listInFile } from './list-file.ts';
import { VARIABLES } from './variables.ts';

const { tokens } = VARIABLES;

/** The accepted static tokens. */
export interface TokenLists {
  /** Tokens that permit everything. */
  readonly full: readonly string[];
  /** Tokens that permit reading only. */
  readonly reading: readonly string[];
}

/** The variables of an environment that give static tokens. */
export function tokenSources(environment: Environment): Environment {
  const names = Object.values(tokens).map(({ name }) => name);
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
}

/** The tokens in the variables and in the files. */
export function tokenLists(values: Values<typeof tokens>, { problem }: Pick<Reader, 'problem'>): TokenLists {
  const inFile = (key: 'fullFile' | 'readingFile') => listInFile(tokens[key], values[key], rules.tokens, problem);
  const lists = {
    full: [...values.full, ...inFile('fullFile')],
    reading: [...values.reading, ...inFile('readingFile')],
  };
  if (!new Set(lists.full).isDisjointFrom(new Set(lists.reading))) {
    problem('READ_TOKENS and READ_TOKENS_FILE must not have a token of ACCESS_TOKENS or ACCESS_TOKENS_FILE');
  }
  return lists;
}

/** Reads the tokens of these variables and files anew. @throws Error as at the start */
export function readTokens(sources: Environment): TokenLists {
  return checked(sources, (reader) => tokenLists(reader.read(tokens), reader));
}
