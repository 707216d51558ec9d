/**
 * Parses the command line of a command on a list.
 *
 * @param command its name in package.json
 * @throws Error, what is wrong with it and how to get help, if `parse` throws one
 */
export function parsedCommandLine<T>(command: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Error(`${(error as Error).message}\nFor help: npm run ${command} -- --help`);
  }
}

/** The one list that is named; `-` is the stream. @throws Error if there is none, or more than one */
export function listPath(positionals: readonly string[], stream: string): string {
  const [path, ...more] = positionals;
  if (path === undefined) throw new Error(`no list is named: name a file, or - for ${stream}`);
  if (more.length > 0) throw new Error(`one list at a time, not ${positionals.join(', ')}`);
  return path;
}
